"""Answers that stay open: written piece by piece, with a filler in the silences, and closed when the server stops."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from aiohttp import web

from bridge.errors import BridgeError

_log = logging.getLogger(__name__)


class _ReaderGone(Exception):
    """The client has closed the connection, or takes nothing any more."""


class _Stopping(Exception):
    """The server stops; clients come back to the next process."""


class LiveResponses:
    """Sends them. What ends early ends without the last chunk, so that no client takes half an answer for the whole."""

    def __init__(self, *, keepalive_seconds: float, stalled_client_seconds: float) -> None:
        self._keepalive_seconds = keepalive_seconds
        self._stalled_client_seconds = stalled_client_seconds
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Close all that are open, after what has been written to them."""
        self._stopping.set()

    async def send(
        self,
        request: web.Request,
        chunks: AsyncGenerator[bytes, None],
        *,
        headers: Mapping[str, str],
        filler: bytes,
        on_gone: Callable[[], None],
    ) -> web.StreamResponse:
        """Write the chunks as they come; `on_gone` is called when the client left before the end."""
        response = web.StreamResponse(headers=headers)
        try:
            await self._write_all(request, response, chunks, filler)
        except _Stopping:
            _close(request)
        except _ReaderGone:
            _abort(request)
            on_gone()
        except BridgeError as error:
            # the thread was deleted meanwhile, or the database is away: a client that comes back is told
            _log.info("%s %s ended early: %s", request.method, request.path, error)
            _close(request)
        except Exception:  # noqa: BLE001 - the edge of an answer whose status is sent: all that is left is to cut it off
            _log.exception("%s %s broke off", request.method, request.path)
            _close(request)
        return response

    async def _write_all(
        self, request: web.Request, response: web.StreamResponse, chunks: AsyncGenerator[bytes, None], filler: bytes
    ) -> None:
        async with aclosing(chunks):
            try:
                await response.prepare(request)
                await self._write(response, filler)  # the headers leave with the first byte
                async with asyncio.TaskGroup() as tasks:
                    keeper = tasks.create_task(self._fill_silences(response, filler))
                    async for chunk in chunks:
                        await self._write(response, chunk)
                    keeper.cancel()
                await response.write_eof()
            except ConnectionError as error:
                raise _ReaderGone from error
            except ExceptionGroup as failures:
                raise failures.exceptions[0] from None

    async def _fill_silences(self, response: web.StreamResponse, filler: bytes) -> None:
        while True:
            try:
                async with asyncio.timeout(self._keepalive_seconds):
                    await self._stopping.wait()
            except TimeoutError:
                await self._write(response, filler)
            else:
                raise _Stopping

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        try:
            async with asyncio.timeout(self._stalled_client_seconds):
                await response.write(data)
        except (ConnectionError, TimeoutError) as error:
            raise _ReaderGone from error


def _close(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
