"""Checkpoints in PostgreSQL: fenced, and pruned as they are written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg import Error as PsycopgError
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from agent.errors import CheckpointNotStored, LeaseLost
from agent.savers.pruning import replaced_at_once, stored_place
from agent.savers.serde import CompressedSerializer
from agent.savers.store import OnRefused, first_line

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

MOST_CONNECTIONS = 10
SETUP_LOCK = 7_418_302_665_511
"""Names our advisory lock; any number nobody else uses."""
SETUP_RETRY_SECONDS = 0.1
STALLED_TRANSACTION_MS = 5_000
"""A process that stalls in mid-transaction holds the fence where it is: after this long the server ends it."""

CREATE_FENCES = "CREATE TABLE IF NOT EXISTS thread_fences (thread_id TEXT PRIMARY KEY, fence BIGINT NOT NULL)"
RAISE_FENCE = """
INSERT INTO thread_fences (thread_id, fence) VALUES (%s, %s)
ON CONFLICT (thread_id) DO UPDATE SET fence = excluded.fence WHERE excluded.fence > thread_fences.fence
"""
READ_FENCE = "SELECT fence FROM thread_fences WHERE thread_id = %s"
TURN_OF = "coalesce(metadata->>'run_id', checkpoint_id)"
CALLED_SUBGRAPH = "position(':' in checkpoint_ns) > 0"
"""A namespace with a task id in it belongs to one step; any other outlives the step."""

FORGET_OLDER_OF_RUN = f"""
DELETE FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_id < %(id)s AND metadata->>'run_id' = %(run)s
AND (checkpoint_ns = %(ns)s OR (%(ns)s = '' AND {CALLED_SUBGRAPH}))
"""  # noqa: S608  our own names
FORGET_WRITES_BEFORE = f"""
DELETE FROM checkpoint_writes w WHERE thread_id = %(thread)s AND checkpoint_id < %(id)s
AND (checkpoint_ns = %(ns)s OR (%(ns)s = '' AND {CALLED_SUBGRAPH}))
AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread_id = w.thread_id
    AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id)
"""  # noqa: S608  our own names
FORGET_OLD_TURNS = f"""
WITH kept AS (
    SELECT {TURN_OF} AS turn FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_ns = ''
    GROUP BY 1 ORDER BY max(checkpoint_id) DESC LIMIT %(turns)s
)
DELETE FROM checkpoints old WHERE thread_id = %(thread)s AND {TURN_OF} NOT IN (SELECT turn FROM kept)
AND (checkpoint_ns = '' OR {CALLED_SUBGRAPH} OR EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread_id = old.thread_id
    AND c.checkpoint_ns = old.checkpoint_ns AND c.checkpoint_id > old.checkpoint_id))
"""  # noqa: S608  our own names
FORGET_ORPHANED_WRITES = """
DELETE FROM checkpoint_writes w WHERE thread_id = %(thread)s AND NOT EXISTS (SELECT 1 FROM checkpoints c
    WHERE c.thread_id = w.thread_id AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id)
"""
FORGET_UNUSED_BLOBS = """
DELETE FROM checkpoint_blobs b WHERE thread_id = %(thread)s AND NOT EXISTS (
    SELECT 1 FROM checkpoints c WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
    AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version)
"""
FORGET_AFTER = (
    "DELETE FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_id > %(id)s",
    "DELETE FROM checkpoint_writes WHERE thread_id = %(thread)s AND checkpoint_id > %(id)s",
    """
    DELETE FROM checkpoint_writes WHERE thread_id = %(thread)s AND checkpoint_id = %(id)s AND channel <> '__interrupt__'
    AND (channel = '__resume__' OR task_id IN (SELECT task_id FROM checkpoint_writes
        WHERE thread_id = %(thread)s AND checkpoint_id = %(id)s AND channel = '__interrupt__'))
    """,
    FORGET_UNUSED_BLOBS,
)


class PostgresCheckpoints:
    """All threads' checkpoints in one database; see `CheckpointStore`."""

    def __init__(self, pool: Pool, keep_turns: int | Literal["all"]) -> None:
        self.pool = pool
        self.keep_turns = keep_turns

    @classmethod
    @asynccontextmanager
    async def open(cls, database_url: str, *, keep_turns: int | Literal["all"]) -> AsyncIterator[PostgresCheckpoints]:
        """Open the pool and create the tables where they are missing; several processes may start together."""
        pool: Pool = AsyncConnectionPool(
            database_url.replace("postgresql+psycopg://", "postgresql://", 1),
            min_size=1,
            max_size=MOST_CONNECTIONS,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
            configure=_end_stalled_transactions,
            open=False,
        )
        async with pool:
            await _create_tables(pool)
            yield cls(pool, keep_turns)

    def saver(self, fence: int | None = None, on_refused: OnRefused | None = None) -> PostgresSaver:
        """Give a saver for one run: the stock one holds a lock around every statement, so runs do not share it."""
        return PostgresSaver(self, fence, on_refused)

    async def claim(self, thread_id: str, fence: int) -> None:
        """Raise the thread's fence; raises `LeaseLost` if a higher one stands."""
        async with self._connection() as connection, connection.transaction():
            row = await (await connection.execute(READ_FENCE, (thread_id,))).fetchone()
            if row is None or row["fence"] < fence:
                await connection.execute(RAISE_FENCE, (thread_id, fence))
            await check_fence(connection, thread_id, fence)

    async def newest(self, thread_id: str) -> str | None:
        """Give the id of the thread's newest checkpoint."""
        query = "SELECT max(checkpoint_id) AS newest FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = ''"
        async with self._connection() as connection:
            row = await (await connection.execute(query, (thread_id,))).fetchone()
        return None if row is None else row["newest"]

    async def prune(self, thread_id: str, fence: int) -> None:
        """Keep the last state of each of the last turns."""
        if self.keep_turns != "all":
            statements = (FORGET_OLD_TURNS, FORGET_ORPHANED_WRITES, FORGET_UNUSED_BLOBS)
            async with self.fenced(thread_id, fence) as connection:
                await _execute_all(connection, statements, {"thread": thread_id, "turns": self.keep_turns})

    async def rollback(self, thread_id: str, checkpoint_id: str | None, fence: int) -> bool:
        """Forget what came after a checkpoint, and what resumed it; with None everything."""
        found = "SELECT 1 FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_id = %(id)s"
        values = {"thread": thread_id, "id": checkpoint_id or ""}
        async with self.fenced(thread_id, fence) as connection:
            if checkpoint_id is not None and await (await connection.execute(found, values)).fetchone() is None:
                return False
            await _execute_all(connection, FORGET_AFTER, values)
        return True

    async def delete(self, thread_id: str) -> None:
        """Forget the thread and its fence; whoever still holds the lease finds none and stops."""
        await self.delete_rows(
            thread_id, None, ("thread_fences", "checkpoints", "checkpoint_blobs", "checkpoint_writes")
        )

    async def delete_rows(self, thread_id: str, fence: int | None, tables: Sequence[str]) -> None:
        """Delete a thread's rows from these tables."""
        statements = [f"DELETE FROM {table} WHERE thread_id = %(thread)s" for table in tables]  # noqa: S608
        async with self.fenced(thread_id, fence) as connection:
            await _execute_all(connection, statements, {"thread": thread_id})

    @asynccontextmanager
    async def fenced(self, thread_id: str, fence: int | None) -> AsyncIterator[Connection]:
        """Open a transaction in which the fence has been compared and cannot be raised before it ends."""
        async with self._connection() as connection, connection.transaction():
            await check_fence(connection, thread_id, fence)
            yield connection

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        """Lend a connection; what the database refuses or does not answer is `CheckpointNotStored`."""
        try:
            async with self.pool.connection() as connection:
                yield connection
        except (PsycopgError, PoolTimeout) as error:
            raise CheckpointNotStored(f"the checkpoint database refused: {first_line(error)}") from error


class PostgresSaver(AsyncPostgresSaver):
    """A run's saver: reads as the stock one, writes through the fence and leaves only the newest state of the run."""

    def __init__(self, store: PostgresCheckpoints, fence: int | None, on_refused: OnRefused | None) -> None:
        super().__init__(store.pool, serde=CompressedSerializer())
        self._store = store
        self._fence = fence
        self._on_refused = on_refused

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and forget, in the same transaction, the older ones of its run."""
        place = config["configurable"]
        thread_id, namespace = place["thread_id"], place["checkpoint_ns"]
        stored = get_serializable_checkpoint_metadata(config, metadata)
        prunes = self._store.keep_turns != "all" and stored.get("run_id") is not None
        if prunes and replaced_at_once(stored):
            return stored_place(config, checkpoint)
        inline, stored_apart = _split_by_size(checkpoint["channel_values"])
        versions = {channel: version for channel, version in new_versions.items() if channel in stored_apart}
        blobs = await asyncio.to_thread(self._dump_blobs, thread_id, namespace, stored_apart, versions)
        row = (
            thread_id,
            namespace,
            checkpoint["id"],
            place.get("checkpoint_id"),
            Jsonb({**checkpoint, "channel_values": inline}),
            Jsonb(stored),
        )
        async with self._fenced(thread_id) as connection, connection.pipeline(), connection.cursor() as cursor:
            if blobs:
                await cursor.executemany(self.UPSERT_CHECKPOINT_BLOBS_SQL, blobs)
            await cursor.execute(self.UPSERT_CHECKPOINTS_SQL, row)
            if prunes:
                values = {"thread": thread_id, "ns": namespace, "id": checkpoint["id"], "run": stored["run_id"]}
                statements = (FORGET_OLDER_OF_RUN, FORGET_WRITES_BEFORE, FORGET_UNUSED_BLOBS)
                await _execute_all(connection, statements, values)
        return stored_place(config, checkpoint)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task of a step wrote, before the step as a whole is done."""
        special = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        statement = self.UPSERT_CHECKPOINT_WRITES_SQL if special else self.INSERT_CHECKPOINT_WRITES_SQL
        place = config["configurable"]
        key = (place["thread_id"], place["checkpoint_ns"], place["checkpoint_id"], task_id, task_path)
        rows = await asyncio.to_thread(self._dump_writes, *key, writes)
        async with self._fenced(place["thread_id"]) as connection, connection.cursor() as cursor:
            await cursor.executemany(statement, rows)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread's checkpoints and writes; its fence stays."""
        await self._store.delete_rows(thread_id, self._fence, ("checkpoints", "checkpoint_blobs", "checkpoint_writes"))

    @asynccontextmanager
    async def _fenced(self, thread_id: str) -> AsyncIterator[Connection]:
        try:
            async with self._store.fenced(thread_id, self._fence) as connection:
                yield connection
        except (LeaseLost, CheckpointNotStored) as refused:
            if self._on_refused is not None:
                self._on_refused(refused)
            raise


async def check_fence(connection: Connection, thread_id: str, fence: int | None) -> None:
    """Compare within the caller's transaction and hold the fence where it is; raises `LeaseLost`."""
    if fence is None:
        return
    row = await (await connection.execute(f"{READ_FENCE} FOR SHARE", (thread_id,))).fetchone()
    standing = None if row is None else row["fence"]
    if standing != fence:
        raise LeaseLost(f"thread {thread_id} stands at fence {standing}, this writer holds {fence}")


async def _execute_all(connection: Connection, statements: Sequence[str], values: dict[str, Any]) -> None:
    for statement in statements:
        await connection.execute(statement, values)


def _split_by_size(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part what stands in the checkpoint's row from what stands in a row of its own, as the stock saver does."""
    small = {channel: v for channel, v in values.items() if v is None or isinstance(v, str | int | float | bool)}
    return small, {channel: value for channel, value in values.items() if channel not in small}


async def _end_stalled_transactions(connection: Connection) -> None:
    await connection.execute(f"SET idle_in_transaction_session_timeout = {STALLED_TRANSACTION_MS}")


async def _create_tables(pool: Pool) -> None:
    # Not the waiting form of the lock: CREATE INDEX CONCURRENTLY waits for every running statement, this one too.
    async with pool.connection() as connection:
        while not await _try_lock(connection):  # noqa: ASYNC110  the other holder is another process
            await asyncio.sleep(SETUP_RETRY_SECONDS)
        try:
            await AsyncPostgresSaver(connection).setup()
            await connection.execute(CREATE_FENCES)
        finally:
            await connection.execute("SELECT pg_advisory_unlock(%s)", (SETUP_LOCK,))


async def _try_lock(connection: Connection) -> bool:
    row = await (await connection.execute("SELECT pg_try_advisory_lock(%s) AS held", (SETUP_LOCK,))).fetchone()
    return bool(row and row["held"])
