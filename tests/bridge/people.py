"""Events as people cause them, for tests."""

from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal

from channels.contract import (
    Addressed,
    ChatKind,
    ChoiceSelected,
    ConversationKey,
    FeedbackGiven,
    Membership,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Sender,
    SendNowRequested,
    StopRequested,
)

CHAT = ConversationKey("demo", "bot", "chat")
ANN = Sender("ann", "Ann", membership=Membership.MEMBER)
BOB = Sender("bob", "Bob", membership=Membership.MEMBER)
_numbers = count(1)


def _said_by(person: Sender, options: dict[str, Any]) -> dict[str, Any]:
    number = next(_numbers)
    return {
        "conversation": CHAT,
        "chat_kind": ChatKind.PRIVATE,
        "sender": person,
        "dedupe_key": f"event-{number}",
        "occurred_at": datetime.now(UTC),
    } | options


def message(text: str, person: Sender = ANN, **options: Any) -> MessageReceived:
    """Something said to the bot."""
    fields = {"message_id": f"m-{next(_numbers)}", "addressed": Addressed.DM} | _said_by(person, options)
    return MessageReceived(text=text, **fields)


def rated(run_id: str, rating: Literal[-1, 0, 1], person: Sender = ANN, **options: Any) -> FeedbackGiven:
    """A thumb under an answer."""
    return FeedbackGiven(run_id=run_id, rating=rating, **_said_by(person, options))


def press(token: str, option: int | None = 0, person: Sender = ANN, **options: Any) -> ChoiceSelected:
    """A press on an answer to a question."""
    return ChoiceSelected(token=token, option=option, **_said_by(person, options))


def stop(run_id: str | None = None, person: Sender = ANN, **options: Any) -> StopRequested:
    """A press on stop."""
    return StopRequested(run_id=run_id, **_said_by(person, options))


def send_now(run_id: str, person: Sender = ANN, **options: Any) -> SendNowRequested:
    """A press on send now."""
    return SendNowRequested(run_id=run_id, **_said_by(person, options))


def edit(message_id: str, text: str, person: Sender = ANN, **options: Any) -> MessageEdited:
    """A change of an earlier message."""
    return MessageEdited(message_id=message_id, text=text, **_said_by(person, options))


def taken_back(message_id: str, person: Sender = ANN, **options: Any) -> MessageDeleted:
    """An earlier message is gone."""
    return MessageDeleted(message_id=message_id, **_said_by(person, options))
