"""The rows of `clarifications`: questions the agent asked, each settled once."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, bindparam, delete, select, update

from bridge.persistence.database import changed
from bridge.persistence.tables import clarifications as t
from bridge.persistence.unreadable import reason
from bridge.persistence.upsert import insert_or_keep
from channels.contract import Clarification, ClarificationState

logger = logging.getLogger(__name__)

ANYBODY = ""  # a question put to somebody whom the platform does not name: whoever may speak there may answer
_MOST_OPEN = 50
_QUESTION: TypeAdapter[Clarification] = TypeAdapter(Clarification)


class AskedBy(StrEnum):
    """What the answer does: begin the next turn, or resume a LangGraph interrupt()."""

    QUESTION = "question"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True)
class ClarificationRecord:
    """A question as it stands, and where it came from."""

    clarification: Clarification
    run_id: str
    call_id: str
    thread_id: str
    asked_by: AskedBy
    asked_of: str


def ensure(connection: Connection, record: ClarificationRecord, *, now: datetime) -> Clarification:
    """Store a question, unless this run's call has stored one already (a step done again after a crash): then that one stands."""
    question = record.clarification
    values = {
        "token": question.token,
        "run_id": record.run_id,
        "call_id": record.call_id,
        "kind": record.asked_by,
        "thread_id": record.thread_id,
        "asked_of": record.asked_of,
        "question": _QUESTION.dump_json(question).decode(),
        "state": question.state,
        "expires_at": question.expires_at,
        "created_at": now,
    }
    insert_or_keep(connection, t, values)
    row = connection.execute(_OF_CALL, {"run": record.run_id, "call": record.call_id}).one()
    return _record(row).clarification


def find(connection: Connection, token: str) -> ClarificationRecord | None:
    """A question by its token; None also for one that this version cannot read."""
    row = connection.execute(_FIND, {"its_token": token}).one_or_none()
    return _readable(row) if row else None


def open_on(connection: Connection, thread_id: str) -> Sequence[ClarificationRecord]:
    """The questions that wait on this thread, newest first, without those that this version cannot read."""
    rows = connection.execute(_OPEN_ON, {"thread": thread_id})
    return [record for row in rows if (record := _readable(row))]


def of_run(connection: Connection, run_id: str) -> Sequence[Clarification]:
    """What a run has asked, as it stands now."""
    rows = connection.execute(_OF_RUN, {"run": run_id})
    return [record.clarification for row in rows if (record := _readable(row))]


def due(connection: Connection, *, now: datetime, limit: int) -> Sequence[str]:
    """The tokens of open questions whose time is over, the longest overdue first."""
    return connection.execute(_DUE, {"now": now, "most": limit}).scalars().all()


def keep_filled(connection: Connection, question: Clarification) -> bool:
    """Store what was filled in so far; False if the question is not open any more."""
    filled = {"step": question.step, "filled": question.filled}
    return bool(changed(connection, _SETTLE, {"its_token": question.token, "filled": filled}))


def settle(
    connection: Connection, token: str, state: ClarificationState, *, answer: str = "", answered_by: str = ""
) -> Clarification | None:
    """Settle an open question and give it as it stands now; None if it was settled before."""
    values = {"state": state, "answer": answer, "answered_by": answered_by}
    if not changed(connection, _SETTLE, {"its_token": token, **values}):
        return None
    record = find(connection, token)
    return record.clarification if record else None


def _readable(row: Any) -> ClarificationRecord | None:
    try:
        return _record(row)
    except ValueError as error:
        logger.warning("a question of run %s cannot be read: %s", row.run_id, reason(error))
        return None


def _record(row: Any) -> ClarificationRecord:
    so_far = row.filled or {}
    question = replace(
        _QUESTION.validate_json(row.question),
        step=int(so_far.get("step", 0)),
        filled={name: tuple(values) for name, values in so_far.get("filled", {}).items()},
        state=ClarificationState(row.state),
        answer=row.answer,
        answered_by=row.answered_by,
        expires_at=row.expires_at,
    )
    return ClarificationRecord(question, row.run_id, row.call_id, row.thread_id, AskedBy(row.kind), row.asked_of)


def forget(connection: Connection, run_id: str) -> None:
    """Take back what a run has asked: the turn begins anew, and may ask under the same call ids."""
    connection.execute(_FORGET, {"run": run_id})


_it = t.c.token == bindparam("its_token")
_open = t.c.state == ClarificationState.OPEN

_FIND = select(t).where(_it)
_OF_CALL = select(t).where(t.c.run_id == bindparam("run"), t.c.call_id == bindparam("call"))
_OF_RUN = select(t).where(t.c.run_id == bindparam("run"))
_OPEN_ON = (
    select(t).where(t.c.thread_id == bindparam("thread"), _open).order_by(t.c.created_at.desc()).limit(_MOST_OPEN)
)
_DUE = (
    select(t.c.token).where(_open, t.c.expires_at <= bindparam("now")).order_by(t.c.expires_at).limit(bindparam("most"))
)
_SETTLE = update(t).where(_it, _open)
_FORGET = delete(t).where(t.c.run_id == bindparam("run"))
