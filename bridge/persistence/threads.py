"""The rows of `threads_meta`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, update

from bridge.persistence.database import changed, locks_rows
from bridge.persistence.tables import threads_meta as t
from bridge.persistence.upsert import insert_or_keep


class ThreadStatus(StrEnum):
    """LangGraph's words."""

    IDLE = "idle"
    BUSY = "busy"
    INTERRUPTED = "interrupted"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """One thread. Times are UTC."""

    thread_id: str
    assistant_id: str
    user_id: str
    title: str | None
    status: ThreadStatus
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


def insert(
    connection: Connection,
    thread_id: str,
    *,
    assistant_id: str,
    user_id: str,
    now: datetime,
    metadata: Mapping[str, Any] | None = None,
) -> bool:
    """Make a thread; False if it is there already."""
    values = {
        "thread_id": thread_id,
        "assistant_id": assistant_id,
        "user_id": user_id,
        "status": ThreadStatus.IDLE,
        "metadata_json": dict(metadata or {}),
        "created_at": now,
        "updated_at": now,
    }
    return insert_or_keep(connection, t, values) is not None


def find(connection: Connection, thread_id: str, *, lock: bool = False) -> ThreadRecord | None:
    """The thread; `lock` keeps other writers of its runs and transcript away until the transaction ends."""
    row = connection.execute(_FIND_AND_LOCK if lock else _FIND, {"thread": thread_id}).one_or_none()
    if row is None:
        return None
    return ThreadRecord(
        row.thread_id,
        row.assistant_id,
        row.user_id,
        row.display_name,
        ThreadStatus(row.status),
        row.metadata_json,
        row.created_at,
        row.updated_at,
    )


def lock(connection: Connection, thread_id: str) -> None:
    """Keep other writers of the thread's runs and transcript away until the transaction ends."""
    if locks_rows(connection):
        connection.execute(_LOCK, {"thread": thread_id})


def set_status(
    connection: Connection, thread_id: str, status: ThreadStatus, *, now: datetime, title: str | None = None
) -> None:
    """Say how the thread stands; a title is only ever set, never taken away."""
    values: dict[str, Any] = {"status": status, "updated_at": now}
    if title:
        values["display_name"] = title
    connection.execute(_CHANGE, {"thread": thread_id, **values})


def begin_run(connection: Connection, thread_id: str, *, now: datetime) -> int:
    """The thread is busy from now on; gives a fencing number higher than every one given before for it."""
    return int(connection.execute(_BEGIN_RUN, {"thread": thread_id, "updated_at": now}).scalar_one())


def remove(connection: Connection, thread_id: str) -> bool:
    """Delete the thread with its runs, stream, transcript and questions (they cascade); False if there is none."""
    return bool(changed(connection, _REMOVE, {"thread": thread_id}))


_it = t.c.thread_id == bindparam("thread")

_FIND = select(t).where(_it)
_FIND_AND_LOCK = _FIND.with_for_update()
_LOCK = select(t.c.thread_id).where(_it).with_for_update()
_CHANGE = update(t).where(_it)
_BEGIN_RUN = _CHANGE.values(fence=t.c.fence + 1, status=ThreadStatus.BUSY).returning(t.c.fence)
_REMOVE = delete(t).where(_it)
