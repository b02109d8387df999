"""The rows of `leases`: which process is at a task that only one may do at a time."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, or_, select, update

from bridge.persistence.database import changed
from bridge.persistence.tables import leases as t
from bridge.persistence.upsert import insert_or_keep


def take(
    connection: Connection,
    task: str,
    owner: str,
    *,
    now: datetime,
    expires_at: datetime,
    from_owners: Collection[str] = (),
) -> bool:
    """Take the lease if nobody has it, if it has run out, or if it is one of `from_owners`' (processes known to be dead)."""
    if insert_or_keep(connection, t, {"task": task, "owner": owner, "expires_at": expires_at}) is not None:
        return True
    dead = {"now": now, "from_owners": list(from_owners)}
    return bool(changed(connection, _TAKE_OVER, {"which": task, **dead, "owner": owner, "expires_at": expires_at}))


def renew(connection: Connection, owner: str, tasks: Collection[str], *, expires_at: datetime) -> set[str]:
    """Prolong these leases; gives those that are still the owner's."""
    mine = {"tasks": list(tasks), "holder": owner}
    return set(connection.execute(_RENEW, {**mine, "expires_at": expires_at}).scalars())


def release(connection: Connection, task: str, owner: str) -> None:
    """Give the lease up, so that another process need not wait for it to run out."""
    connection.execute(_RELEASE, {"which": task, "holder": owner})


def held(connection: Connection, *, now: datetime) -> Sequence[str]:
    """The tasks somebody is at."""
    return connection.execute(_HELD, {"now": now}).scalars().all()


_it = t.c.task == bindparam("which")
_mine = t.c.owner == bindparam("holder")
_free = or_(t.c.expires_at <= bindparam("now"), t.c.owner.in_(bindparam("from_owners", expanding=True)))

_TAKE_OVER = update(t).where(_it, _free)
_RENEW = update(t).where(t.c.task.in_(bindparam("tasks", expanding=True)), _mine).returning(t.c.task)
_RELEASE = delete(t).where(_it, _mine)
_HELD = select(t.c.task).where(t.c.expires_at > bindparam("now"))
