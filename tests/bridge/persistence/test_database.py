"""Transactions: whole or not at all, in a queue of their own, to their end."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from sqlalchemy import Connection, func, select, text

from bridge.persistence import threads
from bridge.persistence.database import Database, open_database
from bridge.persistence.tables import threads_meta
from tests.bridge.conftest import StandingClock


def count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(threads_meta)).scalar_one()


def make(name: str, clock: StandingClock) -> Callable[[Connection], bool]:
    return lambda c: threads.insert(c, name, assistant_id="lead", user_id="ann", now=clock())


@pytest.mark.parametrize("durable", [False, True])
async def test_what_returns_is_committed_and_what_raises_is_not(
    database: Database, clock: StandingClock, *, durable: bool
) -> None:
    assert await database.write(make("kept", clock), durable=durable)

    def fails(connection: Connection) -> None:
        make("lost", clock)(connection)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await database.write(fails, durable=durable)
    assert await database.read(count) == 1


async def test_many_writers_and_readers_at_once_all_get_through(database: Database, clock: StandingClock) -> None:
    writes = [database.write(make(f"t-{n}", clock), durable=n % 2 == 0) for n in range(40)]
    await asyncio.gather(*writes, *(database.read(count) for _ in range(20)))
    assert await database.read(count) == 40


async def test_a_transaction_ends_though_its_caller_is_cancelled(database: Database, clock: StandingClock) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        make("kept", clock)(connection)
        started.set()
        if connection.dialect.name == "sqlite":
            go_on.wait(5)
        else:
            connection.execute(text("SELECT pg_sleep(0.05)"))

    writing = asyncio.create_task(database.write(slow))
    await asyncio.to_thread(started.wait, 5)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    go_on.set()
    await database.write(lambda _connection: None)
    async with asyncio.timeout(5):
        while await database.read(count) != 1:  # noqa: ASYNC110  nobody tells when it is through
            await asyncio.sleep(0.01)


async def test_what_was_written_is_there_for_whoever_opens_the_database_again(
    database: Database, database_url: str | None, tmp_path: object, clock: StandingClock
) -> None:
    await database.write(make("kept", clock), durable=True)
    await database.close()
    again = open_database(database_url, tmp_path)
    assert await again.read(count) == 1
    await again.close()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_sqlite_waits_for_the_disk_only_where_asked(database: Database) -> None:
    modes: list[int] = []

    def look(connection: Connection) -> None:
        modes.append(connection.exec_driver_sql("PRAGMA synchronous").scalar_one())

    await database.write(look)
    await database.write(look, durable=True)
    await database.write(look)
    assert modes == [1, 2, 1]
    assert await database.read(lambda c: c.exec_driver_sql("PRAGMA journal_mode").scalar_one()) == "wal"
    assert await database.read(lambda c: c.exec_driver_sql("PRAGMA foreign_keys").scalar_one()) == 1
