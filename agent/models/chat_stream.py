"""One chat completion as a stream of chunks, read from the socket without an object per token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import orjson
import stamina
from langchain_openai import StreamChunkTimeoutError

from agent.models.event_stream import EventDecoder, EventTooLarge
from agent.models.openai_errors import connection_error, retry_delay, status_error, stream_error, timeout_error
from agent.models.reading_pace import ReadingPace
from agent.models.text_coalescer import Chunk, TextCoalescer

_ERROR_BODY_BYTES: Final = 64 * 1024
_LAST_BYTES_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request with everything it takes to send it."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    query: Mapping[str, str]
    body: bytes = field(repr=False)
    model_name: str
    proxy: str | None = None
    connect_seconds: float | None = 10.0
    read_seconds: float | None = None
    """The longest silence on the socket."""
    chunk_seconds: float | None = None
    """The longest silence between two chunks; comments that keep the connection alive do not count."""
    retries: int = 0
    """How often opening is tried again; an answer that has begun is never."""


async def stream_chunks(
    session: aiohttp.ClientSession, request: ChatRequest, *, window_seconds: float
) -> AsyncGenerator[Chunk, None]:
    """Send the request and give its chunks, plain text joined over `window_seconds`.

    Raises the openai package's exceptions; an answer that ends without a finish reason counts as a broken connection,
    so that half of an answer never passes as whole. Raises `StreamChunkTimeoutError` when the chunks stop coming.
    """
    async with AsyncExitStack() as stack:
        response = await _open(stack, session, request)
        pace = ReadingPace(longest_seconds=window_seconds / 2)
        reader = _ChunkReader(response, request, TextCoalescer(window_seconds), pace)
        async with aclosing(reader.chunks()) as chunks:
            async for chunk in chunks:
                yield chunk


async def _open(stack: AsyncExitStack, session: aiohttp.ClientSession, request: ChatRequest) -> aiohttp.ClientResponse:
    if not request.retries:
        return await stack.enter_async_context(_answer(session, request))
    attempts = stamina.retry_context(
        on=retry_delay, attempts=request.retries + 1, timeout=None, wait_initial=0.5, wait_max=8.0, wait_jitter=0.5
    )
    async for attempt in attempts:
        with attempt:
            return await stack.enter_async_context(_answer(session, request))
    raise AssertionError("stamina raises the last error itself")


@asynccontextmanager
async def _answer(session: aiohttp.ClientSession, request: ChatRequest) -> AsyncIterator[aiohttp.ClientResponse]:
    """Hold the answer open; its end closes the connection unless the answer was read to its own end."""
    limits = aiohttp.ClientTimeout(total=None, sock_connect=request.connect_seconds, sock_read=request.read_seconds)
    call = session.post(
        request.url,
        params=request.query,
        data=request.body,
        headers=request.headers,
        proxy=request.proxy,
        timeout=limits,
    )
    try:
        async with asyncio.timeout(request.chunk_seconds):
            response = await call
        async with response:
            async with asyncio.timeout(request.chunk_seconds):
                await _refuse_failure(response, request)
            yield response
    except StreamChunkTimeoutError:
        raise
    except (aiohttp.ServerTimeoutError, TimeoutError) as error:
        raise timeout_error(request.url) from error
    except (aiohttp.ClientError, OSError, EventTooLarge) as error:
        raise connection_error(request.url, str(error) or type(error).__name__) from error


async def _refuse_failure(response: aiohttp.ClientResponse, request: ChatRequest) -> None:
    if response.status < 400 and response.content_type != "application/json":
        return
    body = b""
    while len(body) < _ERROR_BODY_BYTES and (piece := await response.content.readany()):
        body += piece
    if response.status >= 400:
        raise status_error(request.url, response.status, response.headers, body)
    told = _parsed(body, request)
    raise _error_in(told, request) or connection_error(request.url, "the server answered without streaming")


class _ChunkReader:
    """Reads one answer: bytes to events, events to chunks, within the time limits."""

    def __init__(
        self, response: aiohttp.ClientResponse, request: ChatRequest, coalescer: TextCoalescer, pace: ReadingPace
    ) -> None:
        self._response = response
        self._content = response.content
        self._request = request
        self._coalescer = coalescer
        self._pace = pace
        self._decoder = EventDecoder()
        self._now = asyncio.get_running_loop().time
        self._last_chunk_at = self._now()
        self._received = 0
        self._finished = False
        self._ended = False

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        while not self._ended:
            events = await self._next_events()
            for chunk in self._ready(events):
                yield chunk
                self._last_chunk_at = self._now()  # what the reader of the chunk takes is no silence
            if pause := self._pace.pause_after(len(events), self._now()):
                await self._leave_alone(pause)
        for chunk in self._coalescer.flush(self._now()):
            yield chunk
        if not self._finished:
            raise connection_error(self._request.url, "the answer broke off")
        await self._read_to_the_end()

    def _ready(self, events: list[bytes]) -> Iterator[Chunk]:
        now = self._now()
        if events:
            self._last_chunk_at = now
        for chunk in self._parsed(events):
            yield from self._coalescer.add(chunk, now)
        if self._coalescer.due is not None and now >= self._coalescer.due:
            yield from self._coalescer.flush(now)

    async def _next_events(self) -> list[bytes]:
        """Wait for bytes; gives no event when text that was held back falls due."""
        limit = self._request.chunk_seconds
        silent_at = self._last_chunk_at + limit if limit else None
        due = self._coalescer.due
        if due is not None:
            due += self._pace.longest_seconds  # a read within that time takes it along, for no wake-up of its own
        wake_at = due if silent_at is None or (due is not None and due < silent_at) else silent_at
        try:
            async with asyncio.timeout_at(wake_at) as waiting:
                received = await self._content.readany()
        except aiohttp.ClientPayloadError:
            if not self._finished:
                raise
            received = b""  # the answer is whole, only its end was not said
        except TimeoutError as error:
            if not waiting.expired():
                raise  # the socket's own limit
            if wake_at == due:
                return []
            raise self._stalled() from error
        if received:
            return self._decoder.feed(received)
        self._ended = True
        return self._decoder.finish()

    async def _leave_alone(self, seconds: float) -> None:
        """What comes meanwhile waits in the kernel, and is read at once. Not of an answer that is there already."""
        connection = self._response.connection
        transport = connection.transport if connection is not None and not self._ended else None
        if transport is None or transport.is_closing():
            return
        transport.pause_reading()
        try:
            await asyncio.sleep(seconds)
        finally:
            if not transport.is_closing():
                transport.resume_reading()

    def _stalled(self) -> StreamChunkTimeoutError:
        limit = self._request.chunk_seconds or 0.0
        return StreamChunkTimeoutError(limit, model_name=self._request.model_name, chunks_received=self._received)

    def _parsed(self, events: list[bytes]) -> Iterator[Chunk]:
        for event in events:
            if event.startswith(b"[DONE]"):
                self._ended = True
                return
            chunk = _parsed(event, self._request)
            if error := _error_in(chunk, self._request):
                raise error
            self._received += 1
            for choice in chunk.get("choices") or ():
                if choice.get("finish_reason"):
                    self._finished = True
            yield chunk

    async def _read_to_the_end(self) -> None:
        """Read what follows the last event, for the connection to be used again; not worth waiting for."""
        try:
            async with asyncio.timeout(_LAST_BYTES_SECONDS):
                while await self._content.readany():
                    pass
        except (TimeoutError, aiohttp.ClientError):
            return


def _parsed(text: bytes, request: ChatRequest) -> dict[str, Any]:
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise connection_error(request.url, "the server sent malformed JSON") from error
    if not isinstance(parsed, dict):
        raise connection_error(request.url, "the server sent something that is no chunk")
    return parsed


def _error_in(chunk: dict[str, Any], request: ChatRequest) -> Exception | None:
    return stream_error(request.url, chunk["error"]) if chunk.get("error") else None
