"""A stand-in for the gateway: serves what a channel brings along, at an address known beforehand."""

import socket
from types import TracebackType
from typing import Self

from aiohttp import web

from channels.contract import SupportsWebhooks


class Front:
    """A server on a free port. `url` is known at once, so that a channel can be told where it is reached."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._runner: web.AppRunner | None = None

    async def serve(self, channel: SupportsWebhooks) -> None:
        """Serve this channel's routes, in place of another's."""
        await self.close()
        application = web.Application()
        application.add_routes(channel.webhook_routes())
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()

    async def close(self) -> None:
        """Be out of reach."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
