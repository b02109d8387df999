"""The rows of `feedback`: what people think of answers, one opinion per person and answer."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, select

from bridge.persistence.tables import feedback as t
from bridge.persistence.upsert import insert_or_replace
from bridge.runs.records import RunRecord


def rate(connection: Connection, run: RunRecord, user_id: str, rating: int, *, comment: str, now: datetime) -> None:
    """Keep this opinion (1 or -1) in place of the person's earlier one."""
    values = {
        "feedback_id": _id(run.run_id, user_id),
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "user_id": user_id,
        "rating": rating,
        "comment": comment,
        "created_at": now,
    }
    insert_or_replace(connection, t, values)


def take_back(connection: Connection, run_id: str, user_id: str) -> None:
    """Forget the person's opinion."""
    connection.execute(_REMOVE, {"its_id": _id(run_id, user_id)})


def rating_of(connection: Connection, run_id: str, user_id: str) -> int:
    """The person's opinion of this answer: 1, -1, or 0 for none."""
    return connection.execute(_RATING, {"its_id": _id(run_id, user_id)}).scalar_one_or_none() or 0


def ratings(connection: Connection, thread_id: str, user_id: str) -> Mapping[str, int]:
    """The person's opinions of a thread's answers, by run."""
    rows = connection.execute(_RATINGS, {"thread": thread_id, "person": user_id})
    return {row.run_id: row.rating for row in rows}


def _id(run_id: str, user_id: str) -> str:
    return f"{run_id}/{user_id}"


_it = t.c.feedback_id == bindparam("its_id")

_RATING = select(t.c.rating).where(_it)
_RATINGS = select(t.c.run_id, t.c.rating).where(
    t.c.thread_id == bindparam("thread"), t.c.user_id == bindparam("person")
)
_REMOVE = delete(t).where(_it)
