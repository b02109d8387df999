"""What a person did, in our words: the only thing a channel hands to the house."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from channels.contract.conversation import ChatKind, ConversationKey


class Addressed(StrEnum):
    """How the person spoke to the bot; `ambient` means not at all."""

    DM = "dm"
    MENTION = "mention"
    REPLY = "reply"
    COMMAND = "command"
    AMBIENT = "ambient"


class Membership(StrEnum):
    """What the platform says the person is in this workspace or tenant."""

    MEMBER = "member"
    GUEST = "guest"
    OUTSIDER = "outsider"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sender:
    """Who did it, by the platform's own id (stable; never a display name).

    `is_anonymous`: the platform does not tell which person it is; they speak as the group, or as a channel of theirs.
    """

    id: str
    name: str = ""
    username: str | None = None
    membership: Membership = Membership.UNKNOWN
    is_anonymous: bool = False


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file a person sent. `ref` is the channel's own handle for `download`; it holds no secret and survives a restart."""

    ref: str
    name: str
    mime_type: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """What every event says. `dedupe_key` is equal when the platform delivers the same thing again, and only then."""

    conversation: ConversationKey
    chat_kind: ChatKind
    sender: Sender
    dedupe_key: str
    occurred_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageReceived(_Event):
    """A message. `group` joins the items of one album, which arrive as separate events.

    `overheard` is filled by the house, where the configuration wants it: what was said just before to nobody in particular.
    """

    message_id: str
    text: str
    addressed: Addressed
    files: tuple[FileRef, ...] = ()
    reply_to: str | None = None
    group: str | None = None
    overheard: tuple[str, ...] = ()
    kind: Literal["message_received"] = "message_received"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEdited(_Event):
    """The person changed the text of an earlier message."""

    message_id: str
    text: str
    kind: Literal["message_edited"] = "message_edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDeleted(_Event):
    """The person took an earlier message back."""

    message_id: str
    kind: Literal["message_deleted"] = "message_deleted"


class PressAction(StrEnum):
    """What a press on a clarification does to the field it was drawn for."""

    CHOOSE = "choose"  # this option; of several, this one too
    UNCHOOSE = "unchoose"  # of several, not this one
    DONE = "done"  # of several, those chosen are all
    SKIP = "skip"  # a field that may stay empty does
    BACK = "back"  # to the field before
    SUBMIT = "submit"  # a whole form at once


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceSelected(_Event):
    """A press on a clarification.

    `step` is the position of the field it was drawn for (a plain question has one, at 0), `option` that of the option;
    `values` are all the fields of a form that is submitted at once, by name: several for a choice of several.
    """

    token: str
    option: int | None = None
    action: PressAction = PressAction.CHOOSE
    step: int = 0
    values: dict[str, str | tuple[str, ...]] = field(default_factory=dict)
    kind: Literal["choice_selected"] = "choice_selected"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested(_Event):
    """A press on stop. `run_id` is the run the button was drawn for; None means whatever runs now."""

    run_id: str | None = None
    kind: Literal["stop_requested"] = "stop_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendNowRequested(_Event):
    """A press on *send now* under a turn that waits: what runs is stopped for it, and it passes the others that wait."""

    run_id: str
    kind: Literal["send_now_requested"] = "send_now_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackGiven(_Event):
    """A thumb up (1) or down (-1) under an answer; 0 takes it back.

    With `toggles` the same again takes it back too, as for a button; without, it is what holds, as for a reaction that stands there.
    """

    run_id: str
    rating: Literal[-1, 0, 1]
    toggles: bool = True
    comment: str = ""
    kind: Literal["feedback_given"] = "feedback_given"


Press = ChoiceSelected | StopRequested | SendNowRequested | FeedbackGiven
"""What is done with a button, and waits for a word."""
InboundEvent = MessageReceived | MessageEdited | MessageDeleted | Press

_ADAPTER: TypeAdapter[InboundEvent] = TypeAdapter(Annotated[InboundEvent, Field(discriminator="kind")])


def event_to_json(event: InboundEvent) -> bytes:
    """The form in which the inbox stores an event."""
    return _ADAPTER.dump_json(event)


def event_from_json(data: bytes | str) -> InboundEvent:
    """Read back what `event_to_json` wrote; raises pydantic.ValidationError for anything else."""
    return _ADAPTER.validate_json(data)
