"""Checkpoint savers that keep little and are fenced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent.savers.config import CheckpointConfig
from agent.savers.store import CheckpointStore

__all__ = ["CheckpointConfig", "CheckpointStore", "open_checkpoints"]

SQLITE_FILE = "checkpoints.db"


@asynccontextmanager
async def open_checkpoints(
    config: CheckpointConfig, *, home: Path, database_url: str | None
) -> AsyncIterator[CheckpointStore]:
    """Open the checkpoints: `<home>/checkpoints.db`, or tables in the PostgreSQL database of the URL."""
    if database_url is None:
        from agent.savers.sqlite import SqliteCheckpoints

        async with SqliteCheckpoints.open(home / SQLITE_FILE, keep_turns=config.keep_turns) as store:
            yield store
    else:
        from agent.savers.postgres import PostgresCheckpoints

        async with PostgresCheckpoints.open(database_url, keep_turns=config.keep_turns) as postgres:
            yield postgres
