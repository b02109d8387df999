"""The rows of `inbound_events`: everything people did, in the order in which it arrived."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, or_, select, update

from bridge.errors import UnreadableEvent
from bridge.persistence.database import changed
from bridge.persistence.storable import storable
from bridge.persistence.tables import inbound_events as t
from bridge.persistence.unreadable import reason
from bridge.persistence.upsert import insert_or_keep
from channels.contract import ConversationKey, InboundEvent, MessageReceived, event_from_json, event_to_json


class EventState(StrEnum):
    """Where an event stands. It is handled when its decision is committed."""

    RECEIVED = "received"  # stored; the worker has not decided yet
    DECIDED = "decided"  # done, or its turn is a row of `runs`
    MERGED = "merged"  # part of another event's turn
    STEERING = "steering"  # waits for the running turn's next step
    DROPPED = "dropped"  # a person took it back
    BURIED = "buried"  # failed too often; `threadbridge inbox` lists, retries and drops these


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event with its place in the inbox."""

    id: int
    event: InboundEvent
    state: EventState
    attempts: int
    available_at: datetime
    run_id: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class BuriedEvent:
    """What is known of a buried event without reading what it says."""

    id: int
    conversation: str
    kind: str
    received_at: datetime
    attempts: int
    error: str | None


def insert(connection: Connection, event: InboundEvent, *, now: datetime, available_at: datetime) -> int | None:
    """Store an event; None if the same one is stored already."""
    event = storable(event)
    key = event.conversation
    values = {
        "channel": key.channel,
        "account": key.account,
        "dedupe_key": event.dedupe_key,
        "conversation": str(key),
        "kind": event.kind,
        "message_id": event.message_id if isinstance(event, MessageReceived) else None,
        "payload": event_to_json(event).decode(),
        "state": EventState.RECEIVED,
        "available_at": available_at,
        "received_at": now,
    }
    row = insert_or_keep(connection, t, values)
    return int(row.id) if row is not None else None


def find(connection: Connection, event_id: int) -> StoredEvent | None:
    """One event by its number."""
    row = connection.execute(_FIND, {"event": event_id}).one_or_none()
    return _stored(row) if row else None


def message(connection: Connection, conversation: ConversationKey, message_id: str) -> StoredEvent | None:
    """The message of this conversation that has this id on its platform."""
    place = {"key": str(conversation), "message": message_id}
    row = connection.execute(_MESSAGE, place).first()
    return _stored(row) if row else None


def amend(connection: Connection, event_id: int, event: InboundEvent) -> None:
    """What the person did was something else after all."""
    connection.execute(_AMEND, {"event": event_id, "payload": event_to_json(storable(event)).decode()})


def open_conversations(connection: Connection) -> Sequence[str]:
    """Conversations with something to decide."""
    return connection.execute(_OPEN_CONVERSATIONS).scalars().all()


def open_of_chat(connection: Connection, chat: ConversationKey) -> Sequence[ConversationKey]:
    """The conversations of this chat with something to decide."""
    prefix = str(replace(chat, topic=""))
    return [ConversationKey.parse(key) for key in open_conversations(connection) if key.startswith(prefix)]


def rekey(connection: Connection, old: ConversationKey, new: ConversationKey) -> None:
    """What is not decided for good is decided in another conversation, into which this one has turned."""
    for row in connection.execute(_UNSETTLED, {"key": str(old)}).all():
        stored = _stored_or_error(row)
        payload = row.payload
        if isinstance(stored, StoredEvent):
            payload = event_to_json(replace(stored.event, conversation=new)).decode()
        connection.execute(_AMEND, {"event": row.id, "conversation": str(new), "payload": payload})


def undecided(connection: Connection, conversation: ConversationKey, *, limit: int = 20) -> Sequence[StoredEvent]:
    """The conversation's next events, oldest first. Raises UnreadableEvent."""
    rows = connection.execute(_UNDECIDED, {"key": str(conversation), "most": limit})
    return [_stored(row) for row in rows]


def settle(
    connection: Connection,
    event_ids: Collection[int],
    state: EventState,
    *,
    now: datetime,
    run_id: str | None = None,
    merged_into: int | None = None,
) -> None:
    """Commit what was decided about these events."""
    values = {"state": state, "decided_at": now, "run_id": run_id, "merged_into": merged_into}
    connection.execute(_SETTLE, {"events": list(event_ids), **values})


def settle_rest(connection: Connection, event_ids: Collection[int], state: EventState, *, now: datetime) -> None:
    """The same for those of these events about which nothing was decided yet."""
    connection.execute(_SETTLE_REST, {"events": list(event_ids), "state": state, "decided_at": now})


def postpone(connection: Connection, event_id: int, *, until: datetime, error: str, bury: bool) -> None:
    """Count a failed decision; try again at `until`, or bury the event."""
    values: dict[str, Any] = {"available_at": until, "error": error}
    if bury:
        values["state"] = EventState.BURIED
    connection.execute(_POSTPONE, {"event": event_id, **values})


def events_of_turn(connection: Connection, trigger_event: int) -> Sequence[StoredEvent]:
    """The event that began a turn and those merged into it, in the order of arrival. Raises UnreadableEvent."""
    return [_stored(row) for row in connection.execute(_OF_TURN, {"event": trigger_event})]


def steering(connection: Connection, run_id: str) -> Sequence[StoredEvent]:
    """Messages that wait to be told to this run; those that cannot be read are left to be found when the run has ended."""
    rows = connection.execute(_STEERING, {"run": run_id})
    return [stored for row in rows if not isinstance(stored := _stored_or_error(row), UnreadableEvent)]


def is_steered(connection: Connection, run_id: str) -> bool:
    """Whether any message waits to be told to this run, one that cannot be read too."""
    return connection.execute(_ANY_STEERING, {"run": run_id}).first() is not None


def release_steering(connection: Connection, run_id: str, *, told: Collection[int], now: datetime) -> bool:
    """The run has ended: what it was told is done, the rest is decided anew. True if anything is left to decide."""
    if told:
        done = {"state": EventState.DECIDED, "decided_at": now}
        connection.execute(_TOLD, {"run": run_id, "events": list(told), **done})
    return bool(changed(connection, _NOT_TOLD, {"run": run_id, "state": EventState.RECEIVED, "run_id": None}))


def bury_unreadable(connection: Connection, event_id: int, *, error: str) -> bool:
    """Take an event that cannot be read out of the way of those behind it; False if it is decided or buried already."""
    return bool(changed(connection, _BURY, {"event": event_id, "error": error}))


def bury_conversation(connection: Connection, conversation: str, *, error: str) -> int:
    """The same for all undecided events of a conversation whose key cannot be read; gives their number."""
    return changed(connection, _BURY_CONVERSATION, {"key": conversation, "error": error})


def buried(connection: Connection) -> Sequence[BuriedEvent]:
    """What could not be decided, oldest first."""
    return [
        BuriedEvent(row.id, row.conversation, row.kind, row.received_at, row.attempts, row.error)
        for row in connection.execute(_BURIED)
    ]


def unbury(connection: Connection, event_id: int, state: EventState, *, now: datetime) -> bool:
    """Try a buried event again (RECEIVED) or let it go (DROPPED); False if it is not buried."""
    return bool(changed(connection, _UNBURY, {"event": event_id, "state": state, "attempts": 0, "available_at": now}))


def count_open(connection: Connection) -> int:
    """How many events wait for a decision."""
    return connection.execute(_COUNT_OPEN).scalar_one()


_event = t.c.id == bindparam("event")
_events = t.c.id.in_(bindparam("events", expanding=True))
_received = t.c.state == EventState.RECEIVED
_steers = (t.c.run_id == bindparam("run")) & (t.c.state == EventState.STEERING)

_FIND = select(t).where(_event)
_MESSAGE = (
    select(t)
    .where(t.c.conversation == bindparam("key"), t.c.message_id == bindparam("message"))
    .order_by(t.c.id.desc())
    .limit(1)
)
_AMEND = update(t).where(_event)
_OPEN_CONVERSATIONS = select(t.c.conversation).where(_received).distinct()
_UNSETTLED = select(t).where(
    t.c.conversation == bindparam("key"), t.c.state.in_((EventState.RECEIVED, EventState.STEERING, EventState.BURIED))
)
_UNDECIDED = select(t).where(t.c.conversation == bindparam("key"), _received).order_by(t.c.id).limit(bindparam("most"))
_SETTLE = update(t).where(_events)
_SETTLE_REST = update(t).where(_events, _received)
_POSTPONE = update(t).where(_event).values(attempts=t.c.attempts + 1)
_OF_TURN = select(t).where(or_(_event, t.c.merged_into == bindparam("event"))).order_by(t.c.id)
_STEERING = select(t).where(_steers).order_by(t.c.id)
_ANY_STEERING = select(t.c.id).where(_steers).limit(1)
_TOLD = update(t).where(_steers, _events)
_NOT_TOLD = update(t).where(_steers)
_BURIED = select(t).where(t.c.state == EventState.BURIED).order_by(t.c.id)
_BURY = update(t).where(_event, _received).values(state=EventState.BURIED, attempts=t.c.attempts + 1)
_BURY_CONVERSATION = (
    update(t)
    .where(t.c.conversation == bindparam("key"), _received)
    .values(state=EventState.BURIED, attempts=t.c.attempts + 1)
)
_UNBURY = update(t).where(_event, t.c.state == EventState.BURIED)
_COUNT_OPEN = select(func.count()).where(_received)


def _stored(row: Row) -> StoredEvent:  # type: ignore[type-arg]  # rows of Core tables carry no types
    stored = _stored_or_error(row)
    if isinstance(stored, UnreadableEvent):
        raise stored
    return stored


def _stored_or_error(row: Row) -> StoredEvent | UnreadableEvent:  # type: ignore[type-arg]  # as above
    try:
        event = event_from_json(row.payload)
    except ValueError as error:
        return UnreadableEvent(row.id, row.kind, reason(error))
    state = EventState(row.state)
    return StoredEvent(row.id, event, state, row.attempts, row.available_at, row.run_id, row.error)
