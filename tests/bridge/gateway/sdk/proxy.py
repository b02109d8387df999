"""A TCP proxy that cuts connections in the middle, as networks do."""

import asyncio
from typing import Any, Self

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient


class CuttingProxy:
    """Hands bytes on to a port of this machine until it is told to cut."""

    def __init__(self, port: int) -> None:
        self.cuts = 0
        self._target = port
        self._budget: int | None = None
        self._times = 0
        self._pairs: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._server.close()
        for writer in list(self._pairs):
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def client(self) -> LangGraphClient:
        """The SDK, through this proxy."""
        port = self._server.sockets[0].getsockname()[1]
        return get_client(url=f"http://127.0.0.1:{port}/api")

    def cut_after(self, *, bytes_sent: int, times: int) -> None:
        """From now on cut so many connections, each after so many bytes towards the client."""
        self._budget, self._times = bytes_sent, times

    async def cut_now(self) -> None:
        """Cut everything that is open."""
        self.cuts += 1
        for writer in list(self._pairs):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._pairs |= {writer, back}
        try:
            await asyncio.gather(self._pump(reader, back), self._pump_to_client(there, writer))
        except ConnectionError:
            pass
        finally:
            self._pairs -= {writer, back}
            writer.transport.abort()
            back.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
        raise ConnectionResetError

    async def _pump_to_client(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        sent = 0
        while data := await source.read(256):
            sink.write(data)
            await sink.drain()
            sent += len(data)
            if self._times and self._budget is not None and sent >= self._budget:
                self._times -= 1
                self.cuts += 1
                raise ConnectionAbortedError
        raise ConnectionResetError
