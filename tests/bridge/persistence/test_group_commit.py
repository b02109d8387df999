"""Writes that wait together are committed together, and yet each is whole or not at all by itself."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from bridge.persistence import threads
from bridge.persistence.database import SqliteDatabase
from tests.bridge.conftest import StandingClock
from tests.bridge.persistence.test_database import count, make

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

Work = Callable[[Connection], Any]


@asynccontextmanager
async def together(database: SqliteDatabase) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """What is written in the block waits until its end, and so comes as one group."""
    go_on, writes = threading.Event(), list[asyncio.Task[Any]]()
    ahead = asyncio.create_task(database.write(lambda _connection: go_on.wait(10)))
    await asyncio.sleep(0.05)

    def write(work: Work, *, durable: bool = False) -> Awaitable[Any]:
        writes.append(asyncio.create_task(database.write(work, durable=durable)))
        return writes[-1]

    yield write
    await asyncio.sleep(0)  # each has begun to wait
    go_on.set()
    await ahead
    await asyncio.wait(writes, timeout=10)


def fails(clock: StandingClock) -> Work:
    def work(connection: Connection) -> None:
        make("lost", clock)(connection)
        raise ValueError("no")

    return work


async def test_a_group_is_one_transaction(database: SqliteDatabase, clock: StandingClock) -> None:
    commits: list[object] = []
    event.listen(database.engine, "commit", commits.append)
    async with together(database) as write:
        for number in range(5):
            write(make(f"t-{number}", clock), durable=number == 3)
    assert await database.read(count) == 5
    assert len(commits) == 2  # the one that held the thread, and the group


async def test_one_that_fails_takes_nothing_with_it(database: SqliteDatabase, clock: StandingClock) -> None:
    async with together(database) as write:
        before, failed, after = write(make("a", clock)), write(fails(clock)), write(make("b", clock))
    assert await before
    assert await after
    with pytest.raises(ValueError, match="no"):
        await failed
    assert await database.read(count) == 2


async def test_one_that_raises_what_no_future_takes_keeps_nobody_waiting(
    database: SqliteDatabase, clock: StandingClock
) -> None:
    async with together(database) as write:
        broken, after = write(lambda _connection: next(iter(()))), write(make("b", clock))
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(broken, 5)
    assert await asyncio.wait_for(after, 5)


async def test_each_sees_what_those_before_it_wrote(database: SqliteDatabase, clock: StandingClock) -> None:
    async with together(database) as write:
        write(make("a", clock))
        seen = write(lambda connection: threads.find(connection, "a"))
        again = write(make("a", clock))
    assert await seen is not None
    assert await again is False


async def test_when_the_commit_fails_nobody_is_told_that_it_was_stored(
    database: SqliteDatabase, clock: StandingClock
) -> None:
    commits: list[object] = []

    def refuse_the_second(connection: Connection) -> None:
        commits.append(connection)
        if len(commits) == 2:  # the first is of the one that held the thread
            raise OperationalError("COMMIT", {}, Exception("database or disk is full"))

    event.listen(database.engine, "commit", refuse_the_second)
    async with together(database) as write:
        first, second = write(make("a", clock)), write(make("b", clock))
    for written in (first, second):
        with pytest.raises(OperationalError, match="disk is full"):
            await written
    assert await database.read(count) == 0
    assert await database.write(make("c", clock))


async def test_a_fault_that_takes_the_whole_transaction_back_is_told_to_all(
    database: SqliteDatabase, clock: StandingClock
) -> None:
    """As SQLite does by itself when the disk is full."""

    def gives_all_up(connection: Connection) -> None:
        connection.exec_driver_sql("ROLLBACK")
        raise ValueError("no")

    async with together(database) as write:
        before, broken, after = write(make("a", clock)), write(gives_all_up), write(make("b", clock))
    for written in (before, broken, after):
        with pytest.raises(ValueError, match="no"):
            await written
    assert await database.read(count) == 0
    assert await database.write(make("c", clock))


async def test_closing_writes_what_still_waits(database: SqliteDatabase, clock: StandingClock, tmp_path: Any) -> None:
    async with together(database) as write:
        waiting = [write(make(f"t-{number}", clock)) for number in range(60)]
    await database.close()
    assert all([await written for written in waiting])
    again = SqliteDatabase(tmp_path / "threadbridge.db")
    assert await again.read(count) == 60
    await again.close()
