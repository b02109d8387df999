"""The rows of `stream_parts`: a run's stream, kept until some time after its end."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, or_, select

from bridge.persistence.database import changed
from bridge.persistence.tables import runs
from bridge.persistence.tables import stream_parts as t
from bridge.runs.records import PartId, StreamPart


def insert(connection: Connection, run_id: str, parts: Sequence[StreamPart]) -> None:
    """Store parts as they were numbered."""
    rows = [
        {
            "run_id": run_id,
            "attempt": part.id.attempt,
            "seq": part.id.seq,
            "mode": part.mode,
            "namespace": "|".join(part.namespace),
            "data": part.json,
        }
        for part in parts
    ]
    connection.execute(_INSERT, rows)


def read(connection: Connection, run_id: str, after: PartId, *, limit: int = 200) -> Sequence[StreamPart]:
    """The parts behind `after`, in order."""
    place = {"run": run_id, "after_attempt": after.attempt, "after_seq": after.seq, "most": limit}
    return [
        StreamPart(
            PartId(row.attempt, row.seq),
            row.mode,
            tuple(row.namespace.split("|")) if row.namespace else (),
            row.data,
        )
        for row in connection.execute(_READ, place)
    ]


def forget(connection: Connection, *, ended_before: datetime) -> int:
    """Delete the streams of runs that ended before this moment; gives the number of parts."""
    return changed(connection, _FORGET, {"moment": ended_before})


_later = or_(
    t.c.attempt > bindparam("after_attempt"),
    (t.c.attempt == bindparam("after_attempt")) & (t.c.seq > bindparam("after_seq")),
)

_INSERT = t.insert()
_READ = select(t).where(t.c.run_id == bindparam("run"), _later).order_by(t.c.attempt, t.c.seq).limit(bindparam("most"))
_FORGET = delete(t).where(t.c.run_id.in_(select(runs.c.run_id).where(runs.c.ended_at < bindparam("moment"))))
