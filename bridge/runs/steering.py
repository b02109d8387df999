"""Messages sent while a run works, told to it before its next step."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import HumanMessage

from bridge.persistence import inbox
from bridge.persistence.database import Database
from bridge.runs.turn_input import human_message, said
from channels.contract import MessageReceived


class Steering:
    """The agent's `SteeringSource` over the inbox. A message stays there until the run has ended, so that none is lost with a crash.

    `first` are messages the run begins with though its input has no room for them; they are told before anything else.
    """

    def __init__(self, database: Database, run_id: str, first: Sequence[HumanMessage] = ()) -> None:
        self._database = database
        self._run_id = run_id
        self._first = first
        self._told: set[int] = set()

    async def take(self) -> Sequence[HumanMessage]:
        """What was sent since the last call."""
        events = await self._database.read(lambda connection: inbox.steering(connection, self._run_id))
        new = [stored for stored in events if stored.id not in self._told and isinstance(stored.event, MessageReceived)]
        self._told.update(stored.id for stored in new)
        first, self._first = self._first, ()
        said_since = [_message(stored.id, stored.event) for stored in new if isinstance(stored.event, MessageReceived)]
        return [*first, *said_since]


def _message(event_id: int, event: MessageReceived) -> HumanMessage:
    fields = human_message(event_id, said(event))
    return HumanMessage(fields["content"], id=fields["id"])


def as_messages(told: Mapping[str, Any] | None) -> Sequence[HumanMessage]:
    """The messages of a stored input (`{"messages": [...]}`) that `turn_input` made."""
    messages = told["messages"] if told else ()
    return [
        HumanMessage(fields["content"], id=fields["id"], additional_kwargs=fields.get("additional_kwargs", {}))
        for fields in messages
    ]
