"""One database, two ways in: `read` and `write`. A transaction is a plain function over a connection, so nothing but SQL happens in it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import orjson
from sqlalchemy import URL, Connection, Engine, Executable, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from bridge.persistence.group_commit import GroupCommit
from bridge.persistence.storable import storable

Backend = Literal["sqlite", "postgresql"]
T = TypeVar("T")
Work = Callable[[Connection], T]


class Database(Protocol):
    """The house's tables.

    `write` runs the function in one transaction: committed when it returns, rolled back when it raises. The function may be run on another
    thread and must touch nothing but the connection and its arguments. A caller that is cancelled cannot know whether it was committed.
    """

    backend: Backend

    @property
    def engine(self) -> Engine | AsyncEngine:
        """For `bootstrap_schema`."""

    async def write(self, work: Work[T], *, durable: bool = False) -> T:
        """One transaction. `durable` waits for the disk itself, so that not even a power failure loses it (a killed process never does)."""

    async def read(self, work: Work[T]) -> T:
        """The same for functions that only read."""

    async def close(self) -> None:
        """Let running transactions end, then give the connections back."""


def open_database(url: str | None, home: Path) -> Database:
    """The database of this configuration; connects when first used. `url` None means SQLite in `home`."""
    if url is None:
        return SqliteDatabase(home / "threadbridge.db")
    return PostgresDatabase(url)


class SqliteDatabase:
    """A file. One thread writes, and commits together what waits together; a few others read.

    Transactions begin IMMEDIATE: a deferred BEGIN that turns to writing later fails under load. The synchronous driver on threads of ours
    costs a third of the CPU of the asynchronous one, which crosses threads at every statement.
    """

    backend: Backend = "sqlite"

    def __init__(self, path: Path, *, readers: int = 3) -> None:
        self.engine = _sqlite_engine(path, begin="BEGIN IMMEDIATE", size=1)
        self._reading = _sqlite_engine(path, begin="BEGIN", size=readers)
        self._writer = GroupCommit(self.engine)
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="sqlite-read")

    async def write(self, work: Work[T], *, durable: bool = False) -> T:
        """See `Database.write`."""
        return await self._writer.write(work, durable=durable)

    async def read(self, work: Work[T]) -> T:
        """See `Database.read`."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def close(self) -> None:
        """See `Database.close`."""
        await asyncio.to_thread(self._close)

    def _read(self, work: Work[T]) -> T:
        with self._reading.connect() as connection:
            return work(connection)

    def _close(self) -> None:
        self._writer.close()
        self._readers.shutdown()
        self._reading.dispose()
        self.engine.dispose()


class PostgresDatabase:
    """A server, over psycopg 3; the same functions run inside SQLAlchemy's asynchronous engine."""

    backend: Backend = "postgresql"

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        address = make_url(url)
        self.engine = create_async_engine(
            address,
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_pre_ping=True,
            connect_args={"options": _in_utc(address)},
            **_json_options(),
        )
        self._running: set[asyncio.Task[Any]] = set()

    async def write(self, work: Work[T], *, durable: bool = False) -> T:
        """See `Database.write`; every commit is durable here."""
        return await self._to_its_end(self._write(work))

    async def read(self, work: Work[T]) -> T:
        """See `Database.read`."""
        return await self._to_its_end(self._read(work))

    async def close(self) -> None:
        """See `Database.close`."""
        await asyncio.gather(*self._running, return_exceptions=True)
        await self.engine.dispose()

    async def _to_its_end(self, transaction: Coroutine[Any, Any, T]) -> T:
        """As on a thread: a caller that is cancelled goes, the transaction ends and gives its connection back."""
        task = asyncio.create_task(transaction)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _write(self, work: Work[T]) -> T:
        async with self.engine.begin() as connection:
            return await connection.run_sync(work)

    async def _read(self, work: Work[T]) -> T:
        async with self.engine.connect() as connection:
            return await connection.run_sync(work)


def locks_rows(connection: Connection) -> bool:
    """Whether others may write at the same time, so that rows must be locked; SQLite has one writer."""
    return connection.dialect.name != "sqlite"


def changed(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> int:
    """Run an UPDATE or DELETE and say how many rows it met."""
    return connection.execute(statement, values).rowcount


def _in_utc(address: URL) -> str:
    """The server's options with times in UTC: for any other zone the driver reads a file, and it does so on the event loop."""
    asked = address.query.get("options", "")
    return " ".join([*([asked] if isinstance(asked, str) else asked), "-c TimeZone=UTC"]).strip()


def _json_options() -> dict[str, Any]:
    return {"json_serializer": _to_json, "json_deserializer": _from_json}


def _from_json(text: str | bytes) -> Any:
    """What is no JSON comes as its text: who reads the row says what to do with it, and the others stay readable."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _to_json(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return orjson.dumps(storable(value)).decode() if "\\u0000" in text else text


def _sqlite_engine(path: Path, *, begin: str, size: int) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        pool_size=size,
        max_overflow=0,
        connect_args={
            "isolation_level": None,
            "check_same_thread": False,
        },  # BEGIN is ours; one thread at a time by construction
        **_json_options(),
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", lambda connection: connection.connection.cursor().execute(begin))
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
