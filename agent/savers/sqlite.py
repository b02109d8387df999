"""Checkpoints in a SQLite file: fenced, and pruned as they are written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.sqlite import SqliteSaver as StockSaver

from agent.errors import CheckpointNotStored, LeaseLost
from agent.savers.pruning import replaced_at_once, stored_place
from agent.savers.serde import CompressedSerializer
from agent.savers.sqlite_threads import SqliteThread, transaction
from agent.savers.store import OnRefused, first_line

T = TypeVar("T")

CREATE_FENCES = "CREATE TABLE IF NOT EXISTS thread_fences (thread_id TEXT PRIMARY KEY, fence INTEGER NOT NULL)"
RAISE_FENCE = """
INSERT INTO thread_fences (thread_id, fence) VALUES (?, ?)
ON CONFLICT (thread_id) DO UPDATE SET fence = excluded.fence WHERE excluded.fence > fence
"""
PUT = """
INSERT OR REPLACE INTO checkpoints
(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
VALUES (:thread, :ns, :id, :parent, :kind, :body, :metadata)
"""
PUT_WRITE = """
INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
RUN_OF = "json_extract(CAST(metadata AS TEXT), '$.run_id')"
TURN_OF = f"coalesce({RUN_OF}, checkpoint_id)"
CALLED_SUBGRAPH = "checkpoint_ns LIKE '%:%'"
"""A namespace with a task id in it belongs to one step; any other outlives the step."""

FORGET_OLDER_OF_RUN = f"""
DELETE FROM checkpoints WHERE thread_id = :thread AND checkpoint_id < :id AND {RUN_OF} = :run
AND (checkpoint_ns = :ns OR (:ns = '' AND {CALLED_SUBGRAPH}))
"""  # noqa: S608  our own names
FORGET_WRITES_BEFORE = f"""
DELETE FROM writes WHERE thread_id = :thread AND checkpoint_id < :id
AND (checkpoint_ns = :ns OR (:ns = '' AND {CALLED_SUBGRAPH}))
AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread_id = writes.thread_id
    AND c.checkpoint_ns = writes.checkpoint_ns AND c.checkpoint_id = writes.checkpoint_id)
"""  # noqa: S608  our own names
FORGET_OLD_TURNS = f"""
WITH kept AS (
    SELECT {TURN_OF} AS turn FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = ''
    GROUP BY turn ORDER BY max(checkpoint_id) DESC LIMIT :turns
)
DELETE FROM checkpoints WHERE thread_id = :thread AND {TURN_OF} NOT IN (SELECT turn FROM kept)
AND (checkpoint_ns = '' OR {CALLED_SUBGRAPH} OR EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread_id = :thread
    AND c.checkpoint_ns = checkpoints.checkpoint_ns AND c.checkpoint_id > checkpoints.checkpoint_id))
"""  # noqa: S608  our own names
FORGET_ORPHANED_WRITES = """
DELETE FROM writes WHERE thread_id = :thread AND NOT EXISTS (SELECT 1 FROM checkpoints c
    WHERE c.thread_id = writes.thread_id AND c.checkpoint_ns = writes.checkpoint_ns
    AND c.checkpoint_id = writes.checkpoint_id)
"""
UNDO_RESUME = """
DELETE FROM writes WHERE thread_id = :thread AND checkpoint_id = :id AND channel <> '__interrupt__' AND (
    channel = '__resume__' OR task_id IN (SELECT task_id FROM writes
        WHERE thread_id = :thread AND checkpoint_id = :id AND channel = '__interrupt__'))
"""


PAGE = 20
"""So many states are read at once where many are asked for: a long thread's do not lie in memory together."""


class SqliteCheckpoints:
    """All threads' checkpoints in one file; see `CheckpointStore`."""

    def __init__(self, reader: SqliteThread, writer: SqliteThread, keep_turns: int | Literal["all"]) -> None:
        self.reader = reader
        self.writer = writer
        self.keep_turns = keep_turns

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, *, keep_turns: int | Literal["all"]) -> AsyncIterator[SqliteCheckpoints]:
        """Open or create the file; several processes may have it open at once."""
        async with SqliteThread.writing(path) as writer:
            await writer.run(_prepare)
            async with SqliteThread.reading(path) as reader:
                yield cls(reader, writer, keep_turns)

    def saver(self, fence: int | None = None, on_refused: OnRefused | None = None) -> SqliteSaver:
        """Give a saver for one run."""
        return SqliteSaver(self, fence, on_refused)

    async def claim(self, thread_id: str, fence: int) -> None:
        """Raise the thread's fence; raises `LeaseLost` if a higher one stands."""

        def job(db: sqlite3.Connection) -> None:
            if _fence(db, thread_id) == fence:
                return
            with transaction(db):
                db.execute(RAISE_FENCE, (thread_id, fence))
                check_fence(db, thread_id, fence)

        await self.run(job)

    async def newest(self, thread_id: str) -> str | None:
        """Give the id of the thread's newest checkpoint."""
        query = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
        row = await self.read(lambda db: db.execute(query, (thread_id,)).fetchone())
        return None if row is None else row[0]

    async def prune(self, thread_id: str, fence: int) -> None:
        """Keep the last state of each of the last turns."""
        if self.keep_turns != "all":
            values = {"thread": thread_id, "turns": self.keep_turns}
            await self._write(thread_id, fence, (FORGET_OLD_TURNS, FORGET_ORPHANED_WRITES), values)

    async def rollback(self, thread_id: str, checkpoint_id: str | None, fence: int) -> bool:
        """Forget what came after a checkpoint, and what resumed it; with None everything."""
        after = (
            "DELETE FROM checkpoints WHERE thread_id = :thread AND checkpoint_id > :id",
            "DELETE FROM writes WHERE thread_id = :thread AND checkpoint_id > :id",
            UNDO_RESUME,
        )
        found = "SELECT 1 FROM checkpoints WHERE thread_id = :thread AND checkpoint_id = :id"

        def job(db: sqlite3.Connection) -> bool:
            values = {"thread": thread_id, "id": checkpoint_id or ""}
            with transaction(db):
                check_fence(db, thread_id, fence)
                if checkpoint_id is not None and db.execute(found, values).fetchone() is None:
                    return False
                for statement in after:
                    db.execute(statement, values)
            return True

        return await self.run(job)

    async def delete(self, thread_id: str) -> None:
        """Forget the thread and its fence; whoever still holds the lease finds none and stops."""
        await self.delete_rows(thread_id, None, ("checkpoints", "writes", "thread_fences"))

    async def delete_rows(self, thread_id: str, fence: int | None, tables: Sequence[str]) -> None:
        """Delete a thread's rows from these tables."""
        statements = [f"DELETE FROM {table} WHERE thread_id = :thread" for table in tables]  # noqa: S608
        await self._write(thread_id, fence, statements, {"thread": thread_id})

    async def _write(
        self, thread_id: str, fence: int | None, statements: Sequence[str], values: dict[str, Any]
    ) -> None:
        def job(db: sqlite3.Connection) -> None:
            with transaction(db):
                check_fence(db, thread_id, fence)
                for statement in statements:
                    db.execute(statement, values)

        await self.run(job)

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job on the writer's thread; what the file refuses is `CheckpointNotStored`."""
        with _as_ours():
            return await self.writer.run(job)

    async def read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """The same on the reader's thread; all that the job reads stood in the file at one moment."""

        def at_one_moment(db: sqlite3.Connection) -> T:
            with transaction(db, begin="BEGIN"):
                return job(db)

        with _as_ours():
            return await self.reader.run(at_one_moment)


class SqliteSaver(StockSaver):
    """A run's saver: reads as the stock one but on a thread, writes through the fence and leaves only the newest state of the run."""

    def __init__(self, store: SqliteCheckpoints, fence: int | None, on_refused: OnRefused | None) -> None:
        super().__init__(store.reader.connection, serde=CompressedSerializer())
        self.is_setup = True
        self._store = store
        self._fence = fence
        self._on_refused = on_refused

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Give a state, read and deserialized away from the event loop."""
        return await self._store.read(lambda _db: self.get_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Give states, the newest first."""
        wanted = limit
        while wanted is None or wanted > 0:
            page = await self._page(config, filter, before, PAGE if wanted is None else min(wanted, PAGE))
            for state in page:
                yield state
            if len(page) < PAGE:
                return
            before = page[-1].config
            wanted = None if wanted is None else wanted - len(page)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Give what channels that store only differences are put together from."""
        return await self._store.read(lambda _db: self.get_delta_channel_history(config=config, channels=channels))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and forget, in the same transaction, the older ones of its run."""
        place = config["configurable"]
        stored = get_checkpoint_metadata(config, metadata)
        values = {
            "thread": str(place["thread_id"]),
            "ns": place["checkpoint_ns"],
            "id": checkpoint["id"],
            "parent": place.get("checkpoint_id"),
            "metadata": json.dumps(stored, ensure_ascii=False).encode("utf-8", "ignore"),
            "run": stored.get("run_id"),
        }
        prunes = self._store.keep_turns != "all" and values["run"] is not None
        if prunes and replaced_at_once(stored):
            return stored_place(config, checkpoint)

        def job(db: sqlite3.Connection) -> None:
            kind, body = self.serde.dumps_typed(checkpoint)
            with transaction(db):
                check_fence(db, values["thread"], self._fence)
                db.execute(PUT, {**values, "kind": kind, "body": body})
                if prunes:
                    db.execute(FORGET_OLDER_OF_RUN, values)
                    db.execute(FORGET_WRITES_BEFORE, values)

        await self._write(job)
        return stored_place(config, checkpoint)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task of a step wrote, before the step as a whole is done."""
        place = config["configurable"]
        thread_id = str(place["thread_id"])
        key = (thread_id, str(place["checkpoint_ns"]), str(place["checkpoint_id"]), task_id, task_path)
        conflict = "REPLACE" if all(channel in WRITES_IDX_MAP for channel, _ in writes) else "IGNORE"

        def job(db: sqlite3.Connection) -> None:
            rows = [
                (*key, WRITES_IDX_MAP.get(channel, place), channel, *self.serde.dumps_typed(value))
                for place, (channel, value) in enumerate(writes)
            ]
            with transaction(db):
                check_fence(db, thread_id, self._fence)
                db.executemany(f"INSERT OR {conflict} {PUT_WRITE}", rows)

        await self._write(job)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread's checkpoints and writes; its fence stays."""
        await self._store.delete_rows(thread_id, self._fence, ("checkpoints", "writes"))

    async def _page(
        self, config: RunnableConfig | None, wanted: dict[str, Any] | None, before: RunnableConfig | None, most: int
    ) -> Sequence[CheckpointTuple]:
        return await self._store.read(lambda _db: [*self.list(config, filter=wanted, before=before, limit=most)])

    async def _write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._store.run(job)
        except (LeaseLost, CheckpointNotStored) as refused:
            if self._on_refused is not None:
                self._on_refused(refused)
            raise


def _prepare(db: sqlite3.Connection) -> None:
    StockSaver(db).setup()
    db.execute(CREATE_FENCES).close()


@contextmanager
def _as_ours() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise CheckpointNotStored(f"the checkpoint file refused: {first_line(error)}") from error


def check_fence(db: sqlite3.Connection, thread_id: str, fence: int | None) -> None:
    """Compare within the caller's transaction; raises `LeaseLost`. Without a fence nothing is compared."""
    if fence is not None and (standing := _fence(db, thread_id)) != fence:
        raise LeaseLost(f"thread {thread_id} stands at fence {standing}, this writer holds {fence}")


def _fence(db: sqlite3.Connection, thread_id: str) -> int | None:
    row = db.execute("SELECT fence FROM thread_fences WHERE thread_id = ?", (thread_id,)).fetchone()
    return None if row is None else int(row[0])
