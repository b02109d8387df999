"""An aiohttp session that lives as long as the event loop it is used on."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import cache

import aiohttp
import certifi


@dataclass(frozen=True, slots=True)
class _Open:
    session: aiohttp.ClientSession
    lifetime: AsyncGenerator[aiohttp.ClientSession, None]


class LoopSession:
    """Opens one session per event loop at its first use; `aclose` closes it, and else the loop's own end does."""

    def __init__(self) -> None:
        self._open: dict[asyncio.AbstractEventLoop, _Open] = {}
        self._tls = trusted_certificates()

    async def get(self) -> aiohttp.ClientSession:
        """Give the running loop's session."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open = {other: kept for other, kept in self._open.items() if not other.is_closed()}
            lifetime = _lifetime(self._tls)
            self._open[loop] = _Open(await anext(lifetime), lifetime)
        return self._open[loop].session

    async def aclose(self) -> None:
        """Close the running loop's session and its connections; a later use opens a new one."""
        opened = self._open.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await opened.lifetime.aclose()


async def _lifetime(tls: ssl.SSLContext) -> AsyncGenerator[aiohttp.ClientSession, None]:
    """Hold a session open. A loop closes its asynchronous generators when it ends: nothing leaks if nobody closes."""
    connector = aiohttp.TCPConnector(limit=0, ssl=tls)  # how many models are called at once is decided elsewhere
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


@cache
def trusted_certificates() -> ssl.SSLContext:
    """Trust what the system trusts, and the certificates that come with certifi: slim images have none."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
