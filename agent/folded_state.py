"""FoldedState: the state as the hooks of one step change it, and the updates that say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias
from uuid import uuid4

from langchain_core.messages import BaseMessage, RemoveMessage, convert_to_messages
from langgraph.channels import BinaryOperatorAggregate
from langgraph.channels.base import BaseChannel
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Overwrite

Update: TypeAlias = tuple[str, Any]
Channels: TypeAlias = Mapping[str, BaseChannel[Any, Any, Any]]


class FoldedState:
    """Applies each update with its channel's reducer at once, as a superstep would, and remembers it.

    `jump_to` is a direction, not state: the last one applied is kept in `jump`, whoever asked for it.
    """

    def __init__(self, channels: Channels, values: Mapping[str, Any]) -> None:
        self.values: dict[str, Any] = dict(values)
        self.jump: str | None = None
        self._channels = channels
        self._written: dict[str, list[Any]] = {}

    def apply(self, updates: Iterable[Update]) -> None:
        """Apply updates in order; a key the state does not have is ignored, as LangGraph does."""
        for key, value in updates:
            if key == "jump_to":
                self.jump = value
            elif key in self._channels:
                self._apply_one(key, _as_messages(value) if key == "messages" else value)

    def _apply_one(self, key: str, value: Any) -> None:
        template = self._channels[key]
        channel = template.from_checkpoint(self.values[key]) if key in self.values else template.copy()
        channel.update([value])
        self.values[key] = channel.get()
        self._written.setdefault(key, []).append(value)

    def new_messages(self) -> list[BaseMessage]:
        """Give all message updates as one list: `add_messages` treats it as it treats them one by one."""
        return [message for update in self._written.get("messages", ()) for message in update]

    def updates(self) -> list[Update]:
        """Give every other update as ordered pairs that one step may write."""
        return [pair for key, values in self._written.items() if key != "messages" for pair in self._pairs(key, values)]

    def _pairs(self, key: str, values: list[Any]) -> list[Update]:
        if len(values) == 1:
            return [(key, values[0])]
        if not isinstance(self._channels[key], BinaryOperatorAggregate):
            return [(key, values[-1])]  # a channel without a reducer takes one value a step
        if any(isinstance(value, Overwrite) for value in values):
            return [(key, Overwrite(self.values[key]))]
        return [(key, value) for value in values]


def _as_messages(update: Any) -> list[BaseMessage]:
    if isinstance(update, Overwrite):
        return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *_as_messages(update.value)]
    messages = convert_to_messages(update if isinstance(update, list) else [update])
    return [_with_id(message) for message in messages]


def _with_id(message: BaseMessage) -> BaseMessage:
    return message if message.id else message.model_copy(update={"id": str(uuid4())})
