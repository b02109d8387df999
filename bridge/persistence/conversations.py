"""The rows of `conversations`: which thread a place on a platform talks to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, select, update

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
    row = connection.execute(_FIND_AND_LOCK if lock else _FIND, {"where": str(key)}).one_or_none()
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
    connection.execute(_CHANGE, {"where": str(key), "thread_id": thread_id, "updated_at": now})


def set_settings(connection: Connection, key: ConversationKey, settings: Mapping[str, Any], *, now: datetime) -> None:
    """Keep what was chosen for this conversation, in place of what was chosen before."""
    connection.execute(_CHANGE, {"where": str(key), "settings": dict(settings), "updated_at": now})


def settings_of(connection: Connection, key: ConversationKey) -> Mapping[str, Any]:
    """What was chosen for this conversation."""
    return connection.execute(_SETTINGS, {"where": str(key)}).scalar_one_or_none() or {}


def of_chat(connection: Connection, chat: ConversationKey) -> Sequence[ConversationKey]:
    """The conversations held in this chat, one a topic."""
    prefix = str(replace(chat, topic=""))
    place = {"channel": chat.channel, "account": chat.account, "prefix": prefix, "length": len(prefix)}
    return [ConversationKey.parse(key) for key in connection.execute(_OF_CHAT, place).scalars()]


def rekey(connection: Connection, old: ConversationKey, new: ConversationKey, *, now: datetime) -> None:
    """The conversation goes on under another key. Where there is one already, the older decides on thread and settings."""
    rows = connection.execute(_FIND_BOTH, {"keys": [str(old), str(new)]}).all()
    if len(rows) == 2:
        elder = min(rows, key=lambda row: row.created_at)
        connection.execute(_REMOVE, {"where": str(old)})
        kept = {"thread_id": elder.thread_id, "settings": elder.settings, "created_at": elder.created_at}
        connection.execute(_CHANGE, {"where": str(new), **kept, "updated_at": now})
    else:
        connection.execute(_CHANGE, {"where": str(old), "key": str(new), "updated_at": now})


def touch(connection: Connection, key: ConversationKey, *, now: datetime) -> None:
    """Something was said here."""
    connection.execute(_CHANGE, {"where": str(key), "updated_at": now})


def of_person(
    connection: Connection, channel: str, account: str, person_id: str, *, limit: int = 200
) -> Sequence[ConversationRecord]:
    """The person's conversations, newest first."""
    person = {"channel": channel, "account": account, "person": person_id, "most": limit}
    return [_record(row) for row in connection.execute(_OF_PERSON, person)]


def _record(row: Row) -> ConversationRecord:  # type: ignore[type-arg]  # rows of Core tables carry no types
    return ConversationRecord(
        ConversationKey.parse(row.key),
        ChatKind(row.chat_kind),
        row.person_id,
        row.thread_id,
        row.settings,
        row.updated_at,
    )


_here = t.c.key == bindparam("where")
_of_person = (
    (t.c.channel == bindparam("channel"))
    & (t.c.account == bindparam("account"))
    & (t.c.person_id == bindparam("person"))
)

_FIND = select(t).where(_here)
_FIND_AND_LOCK = _FIND.with_for_update()
_SETTINGS = select(t.c.settings).where(_here)
_FIND_BOTH = select(t).where(t.c.key.in_(bindparam("keys", expanding=True))).order_by(t.c.key).with_for_update()
_OF_CHAT = select(t.c.key).where(
    t.c.channel == bindparam("channel"),
    t.c.account == bindparam("account"),
    func.substr(t.c.key, 1, bindparam("length")) == bindparam("prefix"),
)
_CHANGE = update(t).where(_here)
_REMOVE = delete(t).where(_here)
_OF_PERSON = select(t).where(_of_person).order_by(t.c.updated_at.desc()).limit(bindparam("most"))
