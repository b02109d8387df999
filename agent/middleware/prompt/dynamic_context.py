"""DynamicContextMiddleware: the model knows the date, and its system prompt never changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import date, datetime
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage

from agent.context import RunContext
from agent.messages import mark_hidden
from agent.middleware.bookkeeping.thread_data import TIMESTAMP
from agent.middleware.foldable import FoldableMiddleware

REMINDER = "dynamic_context_reminder"
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class DynamicContextMiddleware(FoldableMiddleware):
    """Shows a hidden reminder of the date before the first message of each day.

    It is derived from the stored time of the messages at every call, so the same history always gives the same
    bytes (providers cache by prefix) and nothing hidden is ever stored.
    """

    async def awrap_model_call(
        self,
        request: ModelRequest[RunContext],
        handler: Callable[[ModelRequest[RunContext]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Put the reminders into the request."""
        return await handler(request.override(messages=list(_with_dates(request.messages))))


def _with_dates(messages: list[AnyMessage]) -> Iterator[AnyMessage]:
    known: date | None = None
    for message in messages:
        day = _day(message)
        if day is not None and day != known:
            known = day
            yield _reminder(day)
        yield message


def _day(message: AnyMessage) -> date | None:
    stamp = message.additional_kwargs.get(TIMESTAMP)
    if not isinstance(message, HumanMessage) or not isinstance(stamp, str):
        return None
    try:
        return datetime.fromisoformat(stamp).date()
    except ValueError:  # a client may have sent a key of this name
        return None


def _reminder(day: date) -> HumanMessage:
    # The user's role: several providers refuse a system message in mid-conversation.
    text = f"<system-reminder>\nToday is {WEEKDAYS[day.weekday()]}, {day.isoformat()}.\n</system-reminder>"
    return mark_hidden(HumanMessage(text, name=REMINDER, id=f"{REMINDER}:{day.isoformat()}"))
