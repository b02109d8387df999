"""The rows of `runs`: claimed under a lease, renewed, ended once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, case, delete, exists, func, or_, select, update

from bridge.persistence import threads
from bridge.persistence.database import changed, locks_rows
from bridge.persistence.tables import runs as t
from bridge.persistence.usage import usage_values
from bridge.runs.records import (
    CancelAction,
    ModelUsage,
    MultitaskStrategy,
    NewRun,
    RunRecord,
    RunSpec,
    RunStatus,
)

_OPEN = (RunStatus.PENDING, RunStatus.RUNNING)


def insert(connection: Connection, run_id: str, request: NewRun, *, now: datetime) -> RunRecord:
    """Put a run behind those the thread already has. The thread's row must be locked by this transaction."""
    values = {
        "run_id": run_id,
        "thread_id": request.thread_id,
        "assistant_id": request.assistant_id,
        "user_id": request.user_id,
        "status": RunStatus.PENDING,
        "multitask_strategy": request.multitask,
        "spec": asdict(request.spec),
        "metadata_json": dict(request.metadata),
        "trigger_event": request.spec.trigger_event,
        "held_until": request.held_until,
        "created_at": now,
        "updated_at": now,
    }
    return _record(connection.execute(_INSERT, values).one())


def find(connection: Connection, run_id: str) -> RunRecord | None:
    """One run."""
    row = connection.execute(_FIND, {"run": run_id}).one_or_none()
    return _record(row) if row else None


def of_thread(
    connection: Connection, thread_id: str, *, limit: int, offset: int = 0, status: RunStatus | None = None
) -> Sequence[RunRecord]:
    """The thread's runs, newest first."""
    query = _OF_THREAD if status is None else _OF_THREAD.where(t.c.status == status)
    return [_record(row) for row in connection.execute(query, {"thread": thread_id, "most": limit, "skipped": offset})]


def open_on(connection: Connection, thread_id: str) -> Sequence[RunRecord]:
    """The thread's active run and those that wait, in the order of their turns."""
    return [_record(row) for row in connection.execute(_OPEN_ON, {"thread": thread_id})]


def count_ahead(connection: Connection, run_id: str) -> int:
    """How many runs of the same thread must end before this one starts; none that waits for a person's word."""
    return connection.execute(_COUNT_AHEAD, {"run": run_id}).scalar_one()


def claim_next(
    connection: Connection, *, owner: str, now: datetime, lease_expires_at: datetime, from_owners: Collection[str] = ()
) -> RunRecord | None:
    """Take the oldest run that may start or must be continued, or None.

    May start: pending and not held, the first such of its thread, and nothing runs there. Must be continued: running, but its lease has
    expired or its owner is one of `from_owners` (processes known to be dead). The attempt and the thread's fence grow, so the former owner
    can write no more.
    """
    when = {"now": now, "from_owners": list(from_owners)}
    while (candidate := connection.execute(_CLAIMABLE, when).one_or_none()) is not None:
        if not locks_rows(connection):
            return _take(connection, candidate, owner=owner, now=now, lease_expires_at=lease_expires_at)
        with connection.begin_nested() as look:
            # The thread first, as everywhere: who stops a run holds the thread and wants the run.
            exists_still = threads.find(connection, candidate.thread_id, lock=True) is not None
            mine = {**when, "run": candidate.run_id}
            if exists_still and connection.execute(_STILL_CLAIMABLE, mine).first() is not None:
                return _take(connection, candidate, owner=owner, now=now, lease_expires_at=lease_expires_at)
            look.rollback()  # somebody was faster: its lock is given back before the next is taken
    return None


def any_claimable(connection: Connection, *, now: datetime, from_owners: Collection[str] = ()) -> bool:
    """Whether `claim_next` would find a run."""
    return connection.execute(_CLAIMABLE, {"now": now, "from_owners": list(from_owners)}).first() is not None


def any_pending(connection: Connection, thread_id: str) -> bool:
    """Whether a run waits on this thread."""
    return connection.execute(_ANY_PENDING, {"thread": thread_id}).first() is not None


def _take(
    connection: Connection, candidate: Any, *, owner: str, now: datetime, lease_expires_at: datetime
) -> RunRecord:
    values = {
        "fence": threads.begin_run(connection, candidate.thread_id, now=now),
        "owner": owner,
        "lease_expires_at": lease_expires_at,
        "updated_at": now,
    }
    return _record(connection.execute(_TAKE, {"run": candidate.run_id, "began": now, **values}).one())


def renew(connection: Connection, owner: str, run_ids: Collection[str], *, lease_expires_at: datetime) -> set[str]:
    """Prolong these leases; gives those that are still the owner's."""
    mine = {"runs": list(run_ids), "holder": owner}
    return set(connection.execute(_RENEW, {**mine, "lease_expires_at": lease_expires_at}).scalars())


def cancelled(connection: Connection, run_ids: Collection[str]) -> Mapping[str, CancelAction]:
    """Which of these runs somebody asked to stop, and how."""
    rows = connection.execute(_CANCELLED, {"runs": list(run_ids)})
    return {row.run_id: CancelAction(row.cancel_action) for row in rows}


def set_input(connection: Connection, run: RunRecord, messages: Mapping[str, Any]) -> None:
    """Keep the input as it was made, so that another attempt need not make it again."""
    connection.execute(_CHANGE_HELD, {**_holding(run), "spec": asdict(replace(run.spec, input=messages))})


def still_held(connection: Connection, held: Sequence[RunRecord]) -> set[str]:
    """Which of these attempts are still the ones that may write (their run ids).

    Takes no locks: for rows that only this attempt can write, where coming a moment too late changes nothing.
    """
    rows = connection.execute(_HOLDERS, {"runs": [run.run_id for run in held]})
    holders = {(row.run_id, row.attempt, row.owner) for row in rows}
    return {run.run_id for run in held if (run.run_id, run.attempt, run.owner) in holders}


def raise_fence(connection: Connection, run: RunRecord, *, now: datetime) -> int | None:
    """A new fence for a run this attempt holds and goes on with; None if it no longer does."""
    threads.lock(connection, run.thread_id)
    if run.run_id not in still_held(connection, [run]):
        return None
    fence = threads.begin_run(connection, run.thread_id, now=now)
    connection.execute(update(t).where(t.c.run_id == run.run_id).values(fence=fence))
    return fence


def finish(
    connection: Connection,
    run: RunRecord,
    status: RunStatus,
    *,
    now: datetime,
    usage: Mapping[str, ModelUsage] | None = None,
) -> bool:
    """End a run this attempt holds, with the error and the checkpoints of this record; False if it no longer does.

    `usage` is what its calls of models took, by model.
    """
    values = {
        **usage_values(usage or {}),
        "status": status,
        "error": run.error,
        "checkpoint_before": run.checkpoint_before,
        "checkpoint_after": run.checkpoint_after,
        "owner": None,
        "lease_expires_at": None,
        "updated_at": now,
        "ended_at": now,
    }
    return bool(changed(connection, _CHANGE_HELD, {**_holding(run), **values}))


def end_pending(connection: Connection, run_id: str, *, now: datetime) -> bool:
    """Stop a run before it has started; False if it is not pending."""
    values = {"status": RunStatus.INTERRUPTED, "updated_at": now, "ended_at": now}
    return bool(changed(connection, _CHANGE_PENDING, {"run": run_id, **values}))


def drop_held(connection: Connection, *, now: datetime) -> Sequence[str]:
    """End the turns for which the person's word has not come in time; gives their threads."""
    values = {"status": RunStatus.INTERRUPTED, "updated_at": now, "ended_at": now}
    return connection.execute(_DROP_HELD, {"overdue": now, **values}).scalars().all()


def send_now(connection: Connection, run: RunRecord) -> None:
    """Let a pending run begin before the others that wait on its thread, which the transaction has locked.

    The id is the order of the thread's turns: it takes the first place, and those it passes each move one back.
    """
    mine = connection.execute(_PLACE, {"run": run.run_id}).scalar_one()
    places = connection.execute(_PLACES_UP_TO, {"thread": run.thread_id, "place": mine}).scalars().all()
    moves = [(mine, -mine)]  # out of the way, for no two may have one place
    moves += zip(reversed(places[:-1]), reversed(places[1:]), strict=True)
    for old, new in [*moves, (-mine, places[0])]:
        connection.execute(_MOVE, {"place": old, "new_place": new})
    connection.execute(_RELEASE, {"run": run.run_id})


def ask_to_stop(connection: Connection, run_id: str, action: CancelAction, *, now: datetime) -> bool:
    """Leave word for the process that runs it; False if it does not run."""
    return bool(changed(connection, _CHANGE_RUNNING, {"run": run_id, "cancel_action": action, "updated_at": now}))


def begin_again(connection: Connection, run: RunRecord, *, now: datetime) -> RunRecord | None:
    """The turn this attempt holds is done anew from its messages as they are now; None if it no longer holds it.

    Another wish to stop it that came meanwhile stays.
    """
    spec = asdict(replace(run.spec, input=None))
    row = connection.execute(_BEGIN_AGAIN, {**_holding(run), "spec": spec, "updated_at": now}).one_or_none()
    return _record(row) if row else None


def let_go(connection: Connection, run: RunRecord, *, now: datetime) -> None:
    """Give a running run up so that another process, or this one after its restart, goes on with it at once."""
    connection.execute(_CHANGE_HELD, {**_holding(run), "owner": None, "lease_expires_at": now})


def remove(connection: Connection, run_id: str) -> None:
    """Delete a run with its stream, questions and delivery (they cascade)."""
    connection.execute(_REMOVE, {"run": run_id})


def _holding(run: RunRecord) -> Mapping[str, Any]:
    """The values of `_held`."""
    return {"run": run.run_id, "held_attempt": run.attempt, "holder": run.owner}


def _claimable() -> Select[Any]:
    other = t.alias()
    earlier_open = exists().where(
        other.c.thread_id == t.c.thread_id,
        or_(
            other.c.status == RunStatus.RUNNING,
            (other.c.status == RunStatus.PENDING) & other.c.held_until.is_(None) & (other.c.id < t.c.id),
        ),
    )
    may_start = (t.c.status == RunStatus.PENDING) & t.c.held_until.is_(None) & ~earlier_open
    lost = or_(t.c.lease_expires_at <= bindparam("now"), t.c.owner.in_(bindparam("from_owners", expanding=True)))
    abandoned = (t.c.status == RunStatus.RUNNING) & lost
    query = select(t.c.run_id, t.c.thread_id).where(t.c.status.in_(_OPEN), or_(may_start, abandoned))
    return query.order_by(t.c.id).limit(1)


_it = t.c.run_id == bindparam("run")
_any_of = t.c.run_id.in_(bindparam("runs", expanding=True))
_of_thread = t.c.thread_id == bindparam("thread")
_open = t.c.status.in_(_OPEN)
_running = t.c.status == RunStatus.RUNNING
_held = _it & _running & (t.c.attempt == bindparam("held_attempt")) & (t.c.owner == bindparam("holder"))
_mine = select(t.c.thread_id, t.c.id).where(_it).subquery()

_INSERT = t.insert().returning(t)
_FIND = select(t).where(_it)
_OF_THREAD = select(t).where(_of_thread).order_by(t.c.id.desc()).limit(bindparam("most")).offset(bindparam("skipped"))
_OPEN_ON = select(t).where(_of_thread, _open).order_by(t.c.id)
_COUNT_AHEAD = (
    select(func.count())
    .select_from(t, _mine)
    .where(t.c.thread_id == _mine.c.thread_id, t.c.id < _mine.c.id, _open, t.c.held_until.is_(None))
)
_CLAIMABLE = _claimable()
_STILL_CLAIMABLE = _CLAIMABLE.where(_it).with_for_update()
_ANY_PENDING = select(t.c.id).where(_of_thread, t.c.status == RunStatus.PENDING).limit(1)
_TAKE = (
    update(t)
    .where(_it)
    .values(
        status=RunStatus.RUNNING,
        attempt=t.c.attempt + 1,
        started_at=func.coalesce(t.c.started_at, bindparam("began", type_=t.c.started_at.type)),
    )
    .returning(t)
)
_RENEW = update(t).where(_any_of, _running, t.c.owner == bindparam("holder")).returning(t.c.run_id)
_CANCELLED = select(t.c.run_id, t.c.cancel_action).where(_any_of, t.c.cancel_action.is_not(None))
_HOLDERS = select(t.c.run_id, t.c.attempt, t.c.owner).where(_any_of, _running)
_CHANGE_HELD = update(t).where(_held)
_OTHER_WISH = case((t.c.cancel_action == CancelAction.RESTART, None), else_=t.c.cancel_action)
_BEGIN_AGAIN = _CHANGE_HELD.values(cancel_action=_OTHER_WISH).returning(t)
_CHANGE_PENDING = update(t).where(_it, t.c.status == RunStatus.PENDING)
_PLACES_UP_TO = (
    select(t.c.id).where(_of_thread, t.c.status == RunStatus.PENDING, t.c.id <= bindparam("place")).order_by(t.c.id)
)
_PLACE = select(t.c.id).where(_it)
_MOVE = update(t).where(t.c.id == bindparam("place")).values(id=bindparam("new_place"))
_RELEASE = update(t).where(_it).values(held_until=None)
_DROP_HELD = (
    update(t).where(t.c.status == RunStatus.PENDING, t.c.held_until <= bindparam("overdue")).returning(t.c.thread_id)
)
_CHANGE_RUNNING = update(t).where(_it, _running)
_REMOVE = delete(t).where(_it)


def _record(row: Row) -> RunRecord:  # type: ignore[type-arg]  # rows of Core tables carry no types
    spec, unreadable = _spec(row.spec)
    return RunRecord(
        run_id=row.run_id,
        thread_id=row.thread_id,
        assistant_id=row.assistant_id,
        user_id=row.user_id,
        status=RunStatus(row.status),
        spec=spec,
        metadata=row.metadata_json if isinstance(row.metadata_json, Mapping) else {},
        multitask=MultitaskStrategy(row.multitask_strategy),
        created_at=row.created_at,
        updated_at=row.updated_at,
        attempt=row.attempt,
        fence=row.fence,
        owner=row.owner,
        lease_expires_at=row.lease_expires_at,
        cancel_action=CancelAction(row.cancel_action) if row.cancel_action else None,
        held_until=row.held_until,
        checkpoint_before=row.checkpoint_before,
        checkpoint_after=row.checkpoint_after,
        error=row.error,
        ended_at=row.ended_at,
        unreadable=unreadable,
    )


def _spec(stored: Any) -> tuple[RunSpec, str | None]:
    """What a run is to do, or why that cannot be read: it must not keep the other rows from being read."""
    try:
        return RunSpec(**stored), None
    except TypeError as error:  # a key that only another version knows, or no mapping at all
        return RunSpec(), str(error).replace("RunSpec.__init__() ", "")
