"""What the house offers a channel."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from channels.contract.conversation import ChatKind, ConversationKey
from channels.contract.events import FileRef, InboundEvent, Sender
from channels.contract.reply import Clarification, Reply


class Outcome(StrEnum):
    """What became of a submitted event."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to `submit`. Whatever the outcome, the platform may now be told that the event arrived; it will not be lost."""

    outcome: Outcome
    event_id: int | None = None


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """One conversation of a person, for a list."""

    key: ConversationKey
    title: str
    updated_at: datetime
    is_running: bool


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A file in a past message; `path` is virtual and opened through the host."""

    path: str
    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """One thing that was said. `seq` grows within a conversation. A person's entry has `text`; an answer has its whole final `reply`."""

    seq: int
    run_id: str
    created_at: datetime
    text: str = ""
    sender_name: str = ""
    message_id: str | None = None
    files: tuple[TranscriptFile, ...] = ()
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file of the thread, resolved and checked. `path` is a real file, ready to be streamed."""

    path: Path
    name: str
    mime_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer of the agent, found by a message that shows it."""

    conversation: ConversationKey
    run_id: str


@dataclass(frozen=True, slots=True)
class CommandInfo:
    """A command people can type, for a platform's menu."""

    name: str
    summary: str
    for_admins: bool = False


class ChannelHost(Protocol):
    """The house, seen from a door. Every method raises BridgeError subclasses with a `user_message` for what a person can mend."""

    @property
    def commands(self) -> Sequence[CommandInfo]:
        """What people can type, in the order of a menu."""

    async def submit(self, event: InboundEvent) -> Accepted:
        """Check access, drop doubles, store.

        When it returns the event is safe; when it raises it is not, and the platform must not be told that it arrived.
        """

    async def may_speak(self, conversation: ConversationKey, sender: Sender) -> bool:
        """Whether this person may speak to the bot there, for what is no message of theirs."""

    async def chat_moved(self, old: ConversationKey, new_chat: str) -> None:
        """The chat goes on under another id: its conversations, whatever their topic, keep threads and settings."""

    async def run_alone(self, task: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run what of several replicas only one may do; `task` names it, the same in all of them.

        The work begins when no other replica is at it, is cancelled when this one loses the right to it, and begins again when it has
        it anew. Returns when the work does; cancelling the call ends it.
        """

    async def clarification(self, token: str) -> Clarification | None:
        """The question as it stands now, or None if there is none: a bounded read, so that a press can be answered at once."""

    async def answer_at(self, chat: ConversationKey, message_id: str) -> ShownAnswer | None:
        """The answer that a message of ours shows, if people may rate it: a bounded read.

        For platforms that name only the message somebody reacted to. It may stand in any topic of the chat; that of `chat` does not count.
        """

    async def conversations(self, channel: str, account: str, user_id: str) -> Sequence[ConversationSummary]:
        """The person's conversations on this channel, newest first."""

    async def open_conversation(self, key: ConversationKey, chat_kind: ChatKind, user_id: str) -> None:
        """Make sure the conversation exists (a page needs it before the first message, for uploads)."""

    async def transcript(self, conversation: ConversationKey, after: int = 0) -> Sequence[TranscriptEntry]:
        """What was said, oldest first, beginning behind `after`. Empty for an unknown conversation."""

    async def ratings(self, conversation: ConversationKey, user_id: str) -> Mapping[str, int]:
        """What the person thinks of the conversation's answers (1 or -1), by run; for a screen that shows it."""

    async def save_upload(self, conversation: ConversationKey, name: str, chunks: AsyncIterator[bytes]) -> FileRef:
        """Put a file into the conversation's thread before the message that mentions it. Limits and names are checked here."""

    async def open_artifact(self, conversation: ConversationKey, path: str) -> OpenedFile:
        """A file of the conversation's thread by its virtual path (uploads and outputs only). Raises BridgeError when there is none."""
