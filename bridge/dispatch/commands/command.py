"""What a command is, and how one is recognised in a message."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from bridge.dispatch.decision import Effects
from bridge.persistence.conversations import ConversationRecord
from channels.contract import MessageReceived

_FIRST_WORD = re.compile(r"/([a-z][a-z0-9_-]*)(?:@\w+)?(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """A command in its conversation, inside the transaction that decides it."""

    connection: Connection
    conversation: ConversationRecord
    event: MessageReceived
    argument: str
    assistant_id: str
    is_admin: bool
    now: datetime
    effects: Effects


@dataclass(frozen=True, slots=True)
class Command:
    """One command: what people type, what help says of it, and what it does; it answers with a text (Markdown)."""

    name: str
    summary: str
    run: Callable[[Call], str]
    for_admins: bool = False


def first_word(text: str) -> tuple[str, str] | None:
    """(name, argument) of a text that could be a command. A path such as /mnt/user-data/x is none: a second slash follows."""
    match = _FIRST_WORD.fullmatch(text.strip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None
