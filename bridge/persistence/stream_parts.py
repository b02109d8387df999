"""The rows of `stream_parts`: a run's stream, kept until some time after its end."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, or_, select

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
    connection.execute(t.insert(), rows)


def read(connection: Connection, run_id: str, after: PartId, *, limit: int = 200) -> Sequence[StreamPart]:
    """The parts behind `after`, in order."""
    later = or_(t.c.attempt > after.attempt, (t.c.attempt == after.attempt) & (t.c.seq > after.seq))
    query = select(t).where(t.c.run_id == run_id, later).order_by(t.c.attempt, t.c.seq).limit(limit)
    return [
        StreamPart(
            PartId(row.attempt, row.seq),
            row.mode,
            tuple(row.namespace.split("|")) if row.namespace else (),
            row.data,
        )
        for row in connection.execute(query)
    ]


def forget(connection: Connection, *, ended_before: datetime) -> int:
    """Delete the streams of runs that ended before this moment; gives the number of parts."""
    old = select(runs.c.run_id).where(runs.c.ended_at < ended_before)
    return changed(connection, delete(t).where(t.c.run_id.in_(old)))
