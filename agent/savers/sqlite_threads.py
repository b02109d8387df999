"""The two threads that touch the checkpoint file: one writes, one reads; a job is one hop away and back."""

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


class SqliteThread:
    """A connection and the only thread that uses it; jobs run one after the other, in the order they came."""

    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self.connection = connection
        self._thread = thread

    @classmethod
    @asynccontextmanager
    async def writing(cls, path: Path) -> AsyncIterator[SqliteThread]:
        """Open or create the file in WAL mode; on leaving, finish the jobs that wait and empty the log into the file."""
        async with cls._opened(path, "checkpoint-writer", "journal_mode=WAL", "synchronous=NORMAL") as opened:
            try:
                yield opened
            finally:
                await opened.run(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").close())

    @classmethod
    @asynccontextmanager
    async def reading(cls, path: Path) -> AsyncIterator[SqliteThread]:
        """Open the file, which is there already; nothing can be written."""
        async with cls._opened(path, "checkpoint-reader", "query_only=ON") as opened:
            yield opened

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job on the thread. Cancelling the caller does not stop a job that was handed over."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, job, self.connection)

    @classmethod
    @asynccontextmanager
    async def _opened(cls, path: Path, name: str, *pragmas: str) -> AsyncIterator[SqliteThread]:
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        loop = asyncio.get_running_loop()
        connection = await loop.run_in_executor(thread, _connect, path, pragmas)
        try:
            yield cls(connection, thread)
        finally:
            await loop.run_in_executor(thread, connection.close)
            thread.shutdown()


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
    """Hold the write lock from the first statement on: a deferred one, good for reading, fails when another process writes between."""
    connection.execute(begin)
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _connect(path: Path, pragmas: tuple[str, ...]) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
    return connection
