"""A TCP line between the program and a simulator, which a test may cut, and on which it sees what is asked."""

import asyncio
import re
from typing import Any, Self
from urllib.parse import urlsplit

_CALL = re.compile(rb"(?:GET|POST) /bot[^/ ]+/(\w+)")


class Line:
    """Hands bytes on to a server of this machine; cut, it refuses connections until it is restored on the same port."""

    def __init__(self, target: str) -> None:
        address = urlsplit(target)
        assert address.port is not None
        self._target = (str(address.hostname), address.port)
        self._port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.calls: list[str] = []

    async def __aenter__(self) -> Self:
        await self.restore()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.cut()

    @property
    def url(self) -> str:
        """The origin on this side."""
        return f"http://127.0.0.1:{self._port}"

    async def restore(self) -> None:
        """Take connections (again)."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Break every connection and refuse new ones."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        there, back = await asyncio.open_connection(*self._target)
        self._writers |= {writer, back}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._hand_on(reader, back, asked=True))
                group.create_task(self._hand_on(there, writer, asked=False))
        except* ConnectionError:
            pass
        finally:
            self._writers -= {writer, back}
            writer.transport.abort()
            back.transport.abort()

    async def _hand_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, asked: bool) -> None:
        while data := await source.read(65536):
            if asked:
                self.calls += [name.decode() for name in _CALL.findall(data)]
            sink.write(data)
            await sink.drain()
        raise ConnectionResetError
