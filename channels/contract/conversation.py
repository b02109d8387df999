"""Where on a platform something is said."""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, unquote


class ChatKind(StrEnum):
    """How many people can read a chat: decides pace, addressing and access."""

    PRIVATE = "private"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """One place where a conversation is held; one key is one agent thread.

    `account` is the workspace, bot or tenant the channel is signed in to; `topic` is empty where the chat itself is the conversation.
    """

    channel: str
    account: str
    chat: str
    topic: str = ""

    def __str__(self) -> str:
        return ":".join(quote(part, safe="") for part in (self.channel, self.account, self.chat, self.topic))

    @classmethod
    def parse(cls, text: str) -> "ConversationKey":
        """Read back what `str()` wrote; raises ValueError for anything else."""
        parts = text.split(":")
        if len(parts) != 4 or not all(parts[:3]):
            raise ValueError(f"not a conversation key: {text!r}")
        return cls(*(unquote(part) for part in parts))
