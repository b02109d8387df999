"""SqliteWriter: write transactions on a thread of their own, one hop each."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

BUSY_TIMEOUT_SECONDS = 30.0


class SqliteWriter:
    """The only writing connection of this process; jobs run one after the other, in the order they came."""

    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator[SqliteWriter]:
        """Open the file in WAL mode; on leaving, finish the jobs that wait and empty the log into the file."""
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint-writer")
        loop = asyncio.get_running_loop()
        connection = await loop.run_in_executor(thread, _connect, path)
        try:
            yield cls(connection, thread)
        finally:
            await loop.run_in_executor(thread, _close, connection)
            thread.shutdown()

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job on the writer's thread. Cancelling the caller does not stop a job that was handed over."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, job, self._connection)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Hold the write lock from the first statement on: a deferred one fails when another process writes between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _close(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
