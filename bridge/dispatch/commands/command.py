"""What a command is, and how one is recognised in a message."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from agent import AssistantInfo
from agent.models import ModelInfo
from bridge.conversation_settings import ConversationSettings
from bridge.dispatch.decision import Effects
from bridge.persistence import conversations
from bridge.persistence.conversations import ConversationRecord
from channels.contract import ChannelSection, MessageReceived

_FIRST_WORD = re.compile(r"/([a-z][a-z0-9_-]*)(?:@\w+)?(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """A command in its conversation, inside the transaction that decides it."""

    connection: Connection
    conversation: ConversationRecord
    event: MessageReceived
    argument: str
    assistant_id: str  # the one that answers here now
    is_admin: bool
    section: ChannelSection
    models: Sequence[ModelInfo]
    assistants: Sequence[AssistantInfo]
    now: datetime
    effects: Effects

    @property
    def settings(self) -> ConversationSettings:
        """What was chosen for the conversation."""
        return ConversationSettings.of(self.conversation.settings)

    def choose(self, name: str, value: object) -> None:
        """Keep a choice for the conversation, or with None take it back."""
        chosen = self.settings.with_choice(name, value).as_stored()
        conversations.set_settings(self.connection, self.conversation.key, chosen, now=self.now)


@dataclass(frozen=True, slots=True)
class Command:
    """One command: what people type, what help says of it, and what it does; it answers with a text (Markdown)."""

    name: str
    summary: str
    run: Callable[[Call], str]
    for_admins: bool = False
    is_shown: bool = True  # by `/help`

    def is_for(self, call: Call) -> bool:
        """Whether whoever calls may use it."""
        return call.is_admin or not self.for_admins


def first_word(text: str) -> tuple[str, str] | None:
    """(name, argument) of a text that could be a command. A path such as /mnt/user-data/x is none: a second slash follows."""
    match = _FIRST_WORD.fullmatch(text.strip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None
