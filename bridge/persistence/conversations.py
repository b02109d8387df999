"""The rows of `conversations`: which thread a place on a platform talks to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from bridge.persistence.database import for_update
from bridge.persistence.tables import conversations as t
from bridge.persistence.upsert import insert_or_keep
from channels.contract import ChatKind, ConversationKey


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """One conversation. `thread_id` is None when its thread was deleted: the next message begins another."""

    key: ConversationKey
    chat_kind: ChatKind
    person_id: str
    thread_id: str | None
    settings: Mapping[str, Any]
    updated_at: datetime


def find(connection: Connection, key: ConversationKey, *, lock: bool = False) -> ConversationRecord | None:
    """The conversation; `lock` keeps other deciders away until the transaction ends."""
    query = select(t).where(t.c.key == str(key))
    row = connection.execute(for_update(connection, query) if lock else query).one_or_none()
    return _record(row) if row else None


def ensure(
    connection: Connection, key: ConversationKey, chat_kind: ChatKind, person_id: str, *, now: datetime
) -> ConversationRecord:
    """The conversation, made if need be, locked until the transaction ends."""
    values = {
        "key": str(key),
        "channel": key.channel,
        "account": key.account,
        "chat_kind": chat_kind,
        "person_id": person_id,
        "settings": {},
        "created_at": now,
        "updated_at": now,
    }
    insert_or_keep(connection, t, values)
    record = find(connection, key, lock=True)
    assert record is not None  # noqa: S101 — just made or found
    return record


def point_at(connection: Connection, key: ConversationKey, thread_id: str, *, now: datetime) -> None:
    """Let the conversation talk to this thread from now on."""
    connection.execute(update(t).where(t.c.key == str(key)).values(thread_id=thread_id, updated_at=now))


def touch(connection: Connection, key: ConversationKey, *, now: datetime) -> None:
    """Something was said here."""
    connection.execute(update(t).where(t.c.key == str(key)).values(updated_at=now))


def of_person(
    connection: Connection, channel: str, account: str, person_id: str, *, limit: int = 200
) -> Sequence[ConversationRecord]:
    """The person's conversations, newest first."""
    query = select(t).where(t.c.channel == channel, t.c.account == account, t.c.person_id == person_id)
    return [_record(row) for row in connection.execute(query.order_by(t.c.updated_at.desc()).limit(limit))]


def _record(row: Row) -> ConversationRecord:  # type: ignore[type-arg]  # rows of Core tables carry no types
    return ConversationRecord(
        ConversationKey.parse(row.key),
        ChatKind(row.chat_kind),
        row.person_id,
        row.thread_id,
        row.settings,
        row.updated_at,
    )
