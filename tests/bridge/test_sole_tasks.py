"""Of several replicas one is at a task; another takes it over when that one is gone, stalled or shut off."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from bridge.clock import utc_now
from bridge.persistence import leases
from bridge.persistence.database import Database
from bridge.runs.config import RunsConfig
from bridge.sole_tasks import SoleTasks
from tests.bridge.conftest import StandingClock

SOON = RunsConfig(lease_seconds=1.0, heartbeat_seconds=0.1)


class Replica:
    """Wants to be at the task, and knows whether it is."""

    def __init__(self, database: Database, owner: str, *, from_owners: tuple[str, ...] = ()) -> None:
        self.tasks = SoleTasks(database, SOON, owner, utc_now)
        self.tasks.start(from_owners)
        self.is_at_it = False
        self.turns = 0
        self._running = asyncio.create_task(self.tasks.run("polling", self._work))

    async def _work(self) -> None:
        self.is_at_it = True
        self.turns += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.is_at_it = False

    async def leave(self) -> None:
        """As the program stops."""
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running
        await self.tasks.stop()

    async def die(self) -> None:
        """Without a word: its lease stays behind."""
        self.tasks._give_back = lambda _task: asyncio.sleep(0)  # type: ignore[method-assign]
        await self.leave()


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.02)


async def test_one_is_at_it_and_the_other_follows_at_once_when_it_leaves(database: Database) -> None:
    first = Replica(database, "first")
    await until(lambda: first.is_at_it)
    second = Replica(database, "second")
    await asyncio.sleep(1.3)
    assert (first.is_at_it, second.is_at_it) == (True, False)
    await first.leave()
    await until(lambda: second.is_at_it, 0.9)
    await second.leave()
    assert await database.read(lambda c: leases.held(c, now=utc_now())) == []


async def test_when_the_holder_dies_the_other_waits_for_the_lease_to_run_out(database: Database) -> None:
    first = Replica(database, "first")
    await until(lambda: first.is_at_it)
    second = Replica(database, "second")
    await first.die()
    assert await database.read(lambda c: leases.held(c, now=utc_now())) == ["polling"]
    await until(lambda: second.is_at_it)
    await second.leave()


async def test_what_a_dead_process_held_is_free_at_once(database: Database) -> None:
    first = Replica(database, "first")
    await until(lambda: first.is_at_it)
    await first.die()
    second = Replica(database, "second", from_owners=("first",))
    await until(lambda: second.is_at_it, 0.8)
    await second.leave()


async def test_a_holder_whose_lease_was_taken_stops_and_stands_by(database: Database) -> None:
    first = Replica(database, "first")
    await until(lambda: first.is_at_it)
    thief = {"now": utc_now(), "expires_at": utc_now(), "from_owners": ("first",)}
    assert await database.write(lambda c: leases.take(c, "polling", "thief", **thief))
    await until(lambda: first.turns == 2)
    assert first.is_at_it
    await first.leave()


async def test_a_holder_that_cannot_renew_stops_before_another_may_begin(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = Replica(database, "first")
    await until(lambda: first.is_at_it)

    async def away(*_: object, **__: object) -> None:
        raise OSError("the database is away")

    with monkeypatch.context() as patched:
        patched.setattr(database, "write", away)
        await until(lambda: not first.is_at_it)
    await until(lambda: first.turns == 2)
    assert "could not be taken" in caplog.text
    await first.leave()


async def test_work_that_ends_ends_the_call_and_frees_the_task(database: Database) -> None:
    tasks = SoleTasks(database, SOON, "me", utc_now)
    done: list[str] = []

    async def work() -> None:
        done.append("here")

    async with asyncio.timeout(5):
        await tasks.run("once", work)
        await tasks.run("once", work)
    assert done == ["here", "here"]


async def test_a_lease_is_taken_renewed_and_given_back_by_its_holder_only(
    database: Database, clock: StandingClock
) -> None:
    until_then = clock() + timedelta(seconds=10)

    async def takes(owner: str) -> bool:
        return await database.write(lambda c: leases.take(c, "polling", owner, now=clock(), expires_at=until_then))

    async def renews(owner: str) -> set[str]:
        return await database.write(lambda c: leases.renew(c, owner, ["polling"], expires_at=until_then))

    assert await takes("a")
    assert not await takes("b")
    assert (await renews("a"), await renews("b")) == ({"polling"}, set())
    await database.write(lambda c: leases.release(c, "polling", "b"))
    assert not await takes("b")
    clock.advance(10)
    assert await takes("b")
