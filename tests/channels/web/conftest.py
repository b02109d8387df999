"""The page on a real server, and somebody who visits it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from channels.contract import ConversationKey
from channels.web.ids import make_key, new_id
from tests.channels.web.browsing import browser, complaints, open_page
from tests.channels.web.house import MemoryHouse, open_house

__all__ = ["browser", "complaints", "open_page"]

CSRF = {"X-Threadbridge": "1"}


class Visitor:
    """A browser without a screen: cookies, and the header the page's script sets."""

    def __init__(self, session: aiohttp.ClientSession, server: TestServer) -> None:
        self.session = session
        self.server = server

    async def get(self, path: str, **options: Any) -> aiohttp.ClientResponse:
        return await self.session.get(self.server.make_url(path), **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> aiohttp.ClientResponse:
        options = {"json": body, "headers": CSRF, **options}
        return await self.session.post(self.server.make_url(path), **options)

    async def json(self, path: str) -> Any:
        response = await self.get(path)
        assert response.status == 200, await response.text()
        return await response.json()

    async def new_conversation(self) -> str:
        conversation = new_id()
        response = await self.post("/web/api/conversations", {"id": conversation})
        assert response.status == 201, await response.text()
        return conversation

    def person(self) -> str:
        cookie = self.session.cookie_jar.filter_cookies(self.server.make_url("/"))["threadbridge_person"]
        return cookie.value.split(".")[0]

    def key(self, conversation: str) -> ConversationKey:
        return make_key(self.person(), conversation)


Visit = Callable[[], Awaitable[Visitor]]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[MemoryHouse]:
    house = MemoryHouse(tmp_path / "files")
    yield house
    await house.end()


@pytest.fixture
async def server(house: MemoryHouse, tmp_path: Path) -> AsyncIterator[TestServer]:
    server = await open_house(house, tmp_path / "state")
    yield server
    await server.close()


@pytest.fixture
async def visit(server: TestServer) -> AsyncIterator[Visit]:
    """Makes people: each call is another browser that opened the page."""
    sessions = []

    async def open_page() -> Visitor:
        session = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        sessions.append(session)
        visitor = Visitor(session, server)
        assert (await visitor.get("/")).status == 200
        return visitor

    yield open_page
    for session in sessions:
        await session.close()


@pytest.fixture
async def visitor(visit: Visit) -> Visitor:
    return await visit()
