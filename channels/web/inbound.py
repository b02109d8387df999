"""What the page posts → InboundEvent."""

import re
from datetime import datetime
from typing import Annotated, Literal, Self, TypedDict

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from channels.contract import (
    Addressed,
    ChatKind,
    ChoiceSelected,
    Clarification,
    ConversationKey,
    FeedbackGiven,
    FileRef,
    MessageReceived,
    PressAction,
    Sender,
    SendNowRequested,
    StopRequested,
)
from channels.shared import filling

ClientId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
FieldName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
FieldValue = Annotated[str, StringConstraints(max_length=10_000)]
FieldValues = Annotated[tuple[FieldValue, ...], Field(max_length=64)]
Ticket = Annotated[str, StringConstraints(min_length=1, max_length=4_096)]

_COMMAND = re.compile(r"/[a-z]+(\s|$)")


class PostedConversation(BaseModel):
    """A new conversation under an id the page made, so that asking twice makes one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: ClientId


class _Posted(BaseModel):
    """What a person did. The page makes `client_id` once for each thing done, and repeats it when it tries again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    client_id: ClientId


class PostedMessage(_Posted):
    """A message; `files` are the tickets the uploads were answered with."""

    text: str = Field(default="", max_length=100_000)
    files: tuple[Ticket, ...] = Field(default=(), max_length=20)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.text.strip() and not self.files:
            raise ValueError("a message needs text or a file")
        return self


class PostedPress(_Posted):
    """An answer to a clarification: what a press does with an option, or with `submit` the fields of a form."""

    token: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,16}$")]
    option: int | None = Field(default=None, ge=0)
    action: PressAction = PressAction.CHOOSE
    values: dict[FieldName, FieldValue | FieldValues] = Field(default_factory=dict, max_length=64)


class PostedStop(_Posted):
    """A press on the stop button of a run."""

    run_id: str | None = Field(default=None, max_length=64)


class PostedFeedback(_Posted):
    """A thumb under the answer of a run."""

    run_id: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    rating: Literal[-1, 0, 1]


class PostedSendNow(_Posted):
    """A press on *send now* under a turn that waits."""

    run_id: str = Field(max_length=64)


class _Origin(TypedDict):
    conversation: ConversationKey
    chat_kind: ChatKind
    sender: Sender
    dedupe_key: str
    occurred_at: datetime


def message_received(
    posted: PostedMessage, conversation: ConversationKey, files: tuple[FileRef, ...], now: datetime
) -> MessageReceived:
    """The message as the house knows it; its id is the page's own, so that the page finds it again in the transcript."""
    return MessageReceived(
        **_origin("message", posted, conversation, now),
        message_id=posted.client_id,
        text=posted.text,
        addressed=Addressed.COMMAND if _COMMAND.match(posted.text) else Addressed.DM,
        files=files,
    )


def choice_selected(posted: PostedPress, conversation: ConversationKey, now: datetime) -> ChoiceSelected:
    """The press as the house knows it."""
    return ChoiceSelected(
        **_origin("press", posted, conversation, now),
        token=posted.token,
        option=posted.option,
        action=posted.action,
        values=dict(posted.values),
    )


def stop_requested(posted: PostedStop, conversation: ConversationKey, now: datetime) -> StopRequested:
    """The wish to stop as the house knows it."""
    return StopRequested(**_origin("stop", posted, conversation, now), run_id=posted.run_id)


def feedback_given(posted: PostedFeedback, conversation: ConversationKey, now: datetime) -> FeedbackGiven:
    """The thumb as the house knows it."""
    return FeedbackGiven(**_origin("feedback", posted, conversation, now), run_id=posted.run_id, rating=posted.rating)


def send_now_requested(posted: PostedSendNow, conversation: ConversationKey, now: datetime) -> SendNowRequested:
    """The wish not to wait as the house knows it."""
    return SendNowRequested(**_origin("send-now", posted, conversation, now), run_id=posted.run_id)


def misfit(pressed: ChoiceSelected, question: Clarification) -> str | None:
    """What is wrong with an answer to this question, in a sentence for the person; None when it fits."""
    filled = filling.press(question, pressed)
    return filled.text if isinstance(filled, filling.Unfit) else None


def _origin(kind: str, posted: _Posted, conversation: ConversationKey, now: datetime) -> _Origin:
    return {
        "conversation": conversation,
        "chat_kind": ChatKind.PRIVATE,
        "sender": Sender(id=conversation.account),
        "dedupe_key": f"{kind}:{posted.client_id}",
        "occurred_at": now,
    }
