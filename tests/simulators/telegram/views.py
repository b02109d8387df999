"""What tests see of the simulated Telegram: frozen views of chats and messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Upload:
    """A file a person sends; `declared_size` lets it claim to be larger than its bytes."""

    name: str
    content: bytes
    kind: str = "document"
    mime_type: str = "application/octet-stream"
    declared_size: int | None = None


@dataclass(frozen=True, slots=True)
class EditView:
    """One state of a message, with the simulated second at which it was shown."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message as it stands; `edits` holds every state the bot gave it, the first included."""

    message_id: int
    sender: int
    text: str
    entities: tuple[Mapping[str, Any], ...]
    markup: Mapping[str, Any] | None
    topic: int | None
    reply_to: int | None
    quote: str | None
    album: str | None
    file: Mapping[str, Any] | None
    service: Mapping[str, Any]
    deleted: bool
    at: float
    edits: tuple[EditView, ...]
    reactions: Mapping[str, Any]

    @classmethod
    def parsed(cls, described: Mapping[str, Any]) -> Self:
        edits = tuple(EditView(**edit) for edit in described["edits"])
        return cls(**{**described, "entities": tuple(described["entities"]), "edits": edits})

    @property
    def buttons(self) -> tuple[Mapping[str, Any], ...]:
        """The inline buttons, row by row."""
        return tuple(button for row in (self.markup or {}).get("inline_keyboard", []) for button in row)

    def callback_data(self, label: str) -> str:
        """The data behind the button that shows `label`; raises StopIteration when there is none."""
        return next(str(button["callback_data"]) for button in self.buttons if button["text"] == label)

    def reaction_of(self, user_id: int) -> str | None:
        reactions = self.reactions.get(str(user_id))
        return reactions[0]["emoji"] if reactions else None


@dataclass(frozen=True, slots=True)
class DraftView:
    """The preview shown while an answer is being written."""

    draft_id: int
    topic: int | None
    text: str
    entities: list[Mapping[str, Any]]
    can_stop: bool
    updates: int
    stopped: bool


@dataclass(frozen=True, slots=True)
class ChatView:
    """A chat as people see it, deleted messages included and marked."""

    bot_id: int
    now: float
    messages: tuple[MessageView, ...]
    drafts: tuple[DraftView, ...]
    actions: tuple[Mapping[str, Any], ...]
    topics: Mapping[str, str]
    members: Mapping[str, str]

    @classmethod
    def parsed(cls, described: Mapping[str, Any], bot_id: int) -> Self:
        return cls(
            bot_id=bot_id,
            now=described["now"],
            messages=tuple(MessageView.parsed(message) for message in described["messages"]),
            drafts=tuple(DraftView(**draft) for draft in described["drafts"]),
            actions=tuple(described["actions"]),
            topics=described["topics"],
            members=described["members"],
        )

    @property
    def from_bot(self) -> tuple[MessageView, ...]:
        """The bot's messages that are shown, oldest first."""
        return tuple(message for message in self.messages if message.sender == self.bot_id and not message.deleted)

    @property
    def last(self) -> MessageView | None:
        """The bot's newest message."""
        return self.from_bot[-1] if self.from_bot else None

    @property
    def is_typing(self) -> bool:
        return any(action["action"] == "typing" and action["until"] > self.now for action in self.actions)

    def message(self, message_id: int) -> MessageView:
        return next(message for message in self.messages if message.message_id == message_id)
