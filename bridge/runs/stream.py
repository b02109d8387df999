"""A run's stream: coalesced, numbered, fanned out to every reader, stored, replayed."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from langchain_core.messages import AIMessageChunk
from sqlalchemy import Connection

from bridge.persistence import runs, stream_parts
from bridge.persistence.database import Database
from bridge.runs.jsonable import to_json
from bridge.runs.records import PartId, RunRecord, StreamPart
from bridge.signals import Signals

logger = logging.getLogger(__name__)

_TEXT_SECONDS = 0.25  # plain text is held back so long, or until there is so much of it
_TEXT_BYTES = 1024
_MEMORY_BYTES = 512 * 1024  # stored parts beyond this are read from the table again
_POLL_SECONDS = 2.0  # how soon a reader notices what another process wrote


class LiveStream:
    """The stream of the run this process drives. Readers keep a position, not a queue: a slow one holds nobody up and costs no memory."""

    def __init__(self, run: RunRecord, signals: Signals) -> None:
        self.run = run
        self._signals = signals
        self._topic = f"run:{run.run_id}"
        self._parts: deque[StreamPart] = deque()
        self._bytes = 0
        self._stored = PartId(run.attempt, 0)
        self._last = PartId(run.attempt, 0)
        self._held: _HeldText | None = None
        self._flush: asyncio.TimerHandle | None = None
        self._spoken = False
        self.on_part: Callable[[StreamPart], object] = lambda _part: None

    def emit(self, mode: str, namespace: tuple[str, ...], data: Any) -> None:
        """Add what the graph gave: at once and in order, except that plain text of one message is gathered for a moment."""
        if mode == "messages" and _is_plain_text(data[0]):
            self._hold(namespace, *data)
        else:
            self.flush_text()
            self._publish(self.number(mode, namespace, to_json(data)))

    def flush_text(self) -> None:
        """Send out the text held back."""
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        if self._held is not None:
            held, self._held = self._held, None
            self._publish(self.number("messages", held.namespace, held.json()))

    def number(self, mode: str, namespace: tuple[str, ...], json: bytes) -> StreamPart:
        """Give a part its place in the stream without showing it yet."""
        self._last = PartId(self._last.attempt, self._last.seq + 1)
        return StreamPart(self._last, mode, namespace, json)

    def close(self, end: StreamPart) -> None:
        """Show the last part, which is stored already."""
        self._stored = end.id
        self._publish(end)

    def unsaved(self) -> Sequence[StreamPart]:
        """Parts shown but not stored yet."""
        return [part for part in self._parts if part.id > self._stored]

    def saved(self, parts: Sequence[StreamPart]) -> None:
        """These are stored: memory may forget the oldest."""
        if parts:
            self._stored = max(self._stored, parts[-1].id)
        while self._bytes > _MEMORY_BYTES and self._parts and self._parts[0].id <= self._stored:
            self._bytes -= len(self._parts.popleft().json)

    def behind(self, cursor: PartId) -> Sequence[StreamPart] | None:
        """The parts behind the reader's position, or None when the next one is no longer (or not yet) in memory."""
        if cursor == PartId(0, 0) and self.run.attempt == 1:
            cursor = PartId(1, 0)  # no attempt came before
        if cursor >= self._last:
            return ()
        first = self._parts[0].id if self._parts else None
        if first is None or PartId(cursor.attempt, cursor.seq + 1) < first:
            return None
        return list(islice(self._parts, cursor.seq + 1 - first.seq, None))

    def _hold(self, namespace: tuple[str, ...], chunk: AIMessageChunk, metadata: dict[str, Any]) -> None:
        if self._held is not None and not self._held.joins(namespace, chunk):
            self.flush_text()
        if self._held is None:
            self._held = _HeldText(namespace, chunk, metadata)
        else:
            self._held.add(str(chunk.content))
        if self._held.size >= _TEXT_BYTES or not self._spoken:
            self._spoken = True  # the first words go out at once
            self.flush_text()
        elif self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(_TEXT_SECONDS, self.flush_text)

    def _publish(self, part: StreamPart) -> None:
        self._parts.append(part)
        self._bytes += len(part.json)
        self.on_part(part)
        self._signals.notify(self._topic)


class _HeldText:
    """Text of one message, gathered for a moment."""

    def __init__(self, namespace: tuple[str, ...], chunk: AIMessageChunk, metadata: dict[str, Any]) -> None:
        self.namespace = namespace
        self.size = len(str(chunk.content))
        self._chunk = chunk
        self._metadata = metadata
        self._texts = [str(chunk.content)]

    def joins(self, namespace: tuple[str, ...], chunk: AIMessageChunk) -> bool:
        return self.namespace == namespace and self._chunk.id == chunk.id

    def add(self, text: str) -> None:
        self._texts.append(text)
        self.size += len(text)

    def json(self) -> bytes:
        return to_json([self._chunk.model_copy(update={"content": "".join(self._texts)}), self._metadata])


def _is_plain_text(message: Any) -> bool:
    return (
        type(message) is AIMessageChunk
        and isinstance(message.content, str)
        and bool(message.content)
        and not message.tool_call_chunks
        and not message.additional_kwargs
        and not message.usage_metadata
        and message.chunk_position is None
    )


class StreamHub:
    """All streams: those this process drives, and the stored ones of the others."""

    def __init__(self, database: Database, signals: Signals) -> None:
        self._database = database
        self._signals = signals
        self._live: dict[str, LiveStream] = {}
        self._saving: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._save_lock = asyncio.Lock()
        self._closing: set[LiveStream] = set()

    def start(self) -> None:
        """Begin to store what the live streams show."""
        self._saving = asyncio.create_task(self._save_forever(), name="stream-saver")

    async def stop(self) -> None:
        """Store what is left and stop. Nothing is cancelled: what is being stored would be stored twice."""
        self._stopping.set()
        if self._saving is not None:
            await self._saving

    def open(self, run: RunRecord) -> LiveStream:
        """The stream of the run this process begins to drive."""
        stream = LiveStream(run, self._signals)
        self._live[run.run_id] = stream
        self._signals.notify(f"run:{run.run_id}")
        return stream

    def drives(self, run_id: str) -> bool:
        """Whether the run is driven here, so that its stream is in memory."""
        return run_id in self._live

    async def drain(self, stream: LiveStream) -> Sequence[StreamPart]:
        """The parts not stored yet, for the caller to store together with the run's end; the hub stores no more of this stream."""
        stream.flush_text()
        self._closing.add(stream)
        async with self._save_lock:
            return stream.unsaved()

    def release(self, stream: LiveStream) -> None:
        """The run has ended or is somebody else's: later readers use the table."""
        stream.flush_text()
        self._closing.discard(stream)
        if self._live.get(stream.run.run_id) is stream:
            del self._live[stream.run.run_id]
        self._signals.notify(f"run:{stream.run.run_id}")

    async def read(self, run_id: str, after: PartId | None = None) -> AsyncGenerator[StreamPart]:
        """Every part behind `after`, live until `end`. Ends without `end` when the run is over and its parts are gone."""
        cursor = after or PartId(0, 0)
        with self._signals.watch(f"run:{run_id}") as watch:
            while True:
                parts, is_live = await self._next(run_id, cursor)
                for part in parts:
                    cursor = part.id
                    yield part
                    if part.mode == "end":
                        return
                if not parts:
                    if not is_live and await self._is_over(run_id, cursor):
                        return
                    await watch.wait(None if is_live else _POLL_SECONDS)

    async def _next(self, run_id: str, cursor: PartId) -> tuple[Sequence[StreamPart], bool]:
        live = self._live.get(run_id)
        if live is not None and (parts := live.behind(cursor)) is not None:
            return parts, True
        stored = await self._database.read(lambda connection: stream_parts.read(connection, run_id, cursor))
        if live is not None and not stored:
            return live.behind(PartId(live.run.attempt, 0)) or (), True  # nothing older was ever stored
        return stored, False

    async def _is_over(self, run_id: str, cursor: PartId) -> bool:
        """The run has ended and not even its `end` is stored behind the cursor (asked in this order, so that none is missed)."""
        run = await self._database.read(lambda connection: runs.find(connection, run_id))
        if run is None:
            return True
        if not run.status.is_final:
            return False
        return not await self._database.read(lambda connection: stream_parts.read(connection, run_id, cursor, limit=1))

    async def _save_forever(self) -> None:
        is_last = False
        while not is_last:
            await self._rest(_TEXT_SECONDS)
            is_last = self._stopping.is_set()
            started = time.monotonic()
            try:
                await self._save_all()
            except Exception:  # the parts stay in memory and are tried again; readers have them already
                logger.exception("stream parts could not be stored")
                await self._rest(min(5.0, 1.0 + time.monotonic() - started))

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _save_all(self) -> None:
        async with self._save_lock:
            open_streams = [stream for stream in self._live.values() if stream not in self._closing]
            batch = [(stream, parts) for stream in open_streams if (parts := stream.unsaved())]
            if batch:
                pairs = [(stream.run, parts) for stream, parts in batch]
                await self._database.write(lambda connection: _store(connection, pairs))
            for stream, parts in batch:
                stream.saved(parts)


def _store(connection: Connection, batch: Sequence[tuple[RunRecord, Sequence[StreamPart]]]) -> None:
    held = runs.still_held(connection, [run for run, _ in batch])
    for run, parts in batch:
        if run.run_id in held:
            stream_parts.insert(connection, run.run_id, parts)
