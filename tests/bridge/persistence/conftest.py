"""Short ways to rows."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import Connection

from bridge.persistence import runs, threads
from bridge.persistence.database import Database
from bridge.runs.records import NewRun
from tests.bridge.conftest import StandingClock

Write = Callable[[Callable[[Connection], Any]], Awaitable[Any]]
MakeRun = Callable[..., Awaitable[str]]


@pytest.fixture
def write(database: Database) -> Write:
    return database.write


@pytest.fixture
def make_run(database: Database, clock: StandingClock) -> MakeRun:
    """Stores a pending run, and its thread if need be; gives its id."""
    made: list[str] = []

    async def make(thread_id: str = "t", run_id: str = "", **details: Any) -> str:
        made.append(run_id or f"run-{len(made) + 1}")

        def insert(connection: Connection) -> None:
            threads.insert(connection, thread_id, assistant_id="lead", user_id="ann", now=clock())
            runs.insert(connection, made[-1], NewRun(thread_id, **details), now=clock())

        await database.write(insert)
        return made[-1]

    return make
