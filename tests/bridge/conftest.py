"""What the house's tests share: both databases with their tables, and a clock that stands."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from bridge.persistence.database import Database, open_database
from bridge.persistence.schema import bootstrap_schema
from tests.databases import new_database, postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


class StandingClock:
    """Shows the same moment until a test moves it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture(scope="session")
def sqlite_with_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the house's tables, to be copied: making them takes longer than most tests."""
    home = tmp_path_factory.mktemp("tables")
    asyncio.run(_make_tables(None, home))
    return home / "threadbridge.db"


@pytest.fixture(scope="session")
def postgres_with_tables(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with the house's tables, emptied for each test: making one takes longer than most tests."""
    with new_database(postgres_server) as url:
        asyncio.run(_make_tables(url, tmp_path_factory.mktemp("unused")))
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """Each test once on either database, with empty tables; None is the SQLite file."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_with_tables"), tmp_path)
        return None
    url: str = request.getfixturevalue("postgres_with_tables")
    _empty(url)
    return url


@pytest.fixture
async def database(tmp_path: Path, database_url: str | None) -> AsyncIterator[Database]:
    """The house's tables, empty."""
    database = open_database(database_url, tmp_path)
    yield database
    await database.close()


async def _make_tables(url: str | None, home: Path) -> None:
    database = open_database(url, home)
    await bootstrap_schema(database.engine, backend=database.backend)
    await database.close()


def _empty(url: str) -> None:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ({})"
        kept = "'alembic_version', 'checkpoint_migrations'"  # they say which tables there are
        names = [name for (name,) in connection.execute(tables.format(kept))]
        connection.execute(f"TRUNCATE {', '.join(names)} RESTART IDENTITY CASCADE")
