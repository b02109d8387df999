"""What the house's tests share: both databases with their tables, and a clock that stands."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bridge.persistence.database import Database, open_database
from bridge.persistence.schema import bootstrap_schema
from tests.databases import database_url, postgres_server, postgres_url

__all__ = ["database_url", "postgres_server", "postgres_url"]


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


@pytest.fixture
async def database(tmp_path: Path, database_url: str | None) -> AsyncIterator[Database]:
    """The house's tables, empty."""
    database = open_database(database_url, tmp_path)
    await bootstrap_schema(database.engine, backend=database.backend)
    yield database
    await database.close()
