"""Somebody leaves in the middle of a request: nothing goes wrong, and nothing is said to have gone wrong."""

import asyncio
import logging
import socket
import struct
from dataclasses import dataclass

import pytest

from channels.contract import ChatKind
from channels.web.ids import new_id
from tests.channels.web.conftest import Visitor
from tests.channels.web.house import MemoryHouse

FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nsome bytes'


@dataclass(frozen=True)
class Request:
    line: str
    headers: str = ""
    body: bytes = b""


ONE = "/web/api/conversations/{id}"
REQUESTS = {
    "stream": Request(f"GET {ONE}/events"),
    "read": Request(f"GET {ONE}/messages"),
    "message": Request(f"POST {ONE}/messages", "Content-Type: application/json\r\nContent-Length: 500\r\n", b'{"cli'),
    "upload": Request(
        f"POST {ONE}/uploads", "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5000\r\n", FORM
    ),
}


@pytest.mark.parametrize("way", ["closes", "resets"])
@pytest.mark.parametrize("when", ["before it is let in", "in the middle"])
@pytest.mark.parametrize("kind", REQUESTS)
async def test_who_leaves_is_no_error(
    house: MemoryHouse, visitor: Visitor, caplog: pytest.LogCaptureFixture, kind: str, when: str, way: str
) -> None:
    conversation = new_id()
    await house.open_conversation(visitor.key(conversation), ChatKind.PRIVATE, visitor.person())
    house.slow = {"conversations": asyncio.Event()}
    with caplog.at_level(logging.ERROR):
        leaving = await asyncio.to_thread(connected, visitor, REQUESTS[kind], conversation)
        if when == "in the middle":
            house.slow["conversations"].set()
        await asyncio.sleep(0.05)
        leave(leaving, way)
        await asyncio.sleep(0.05)
        house.slow["conversations"].set()
        await asyncio.sleep(0.1)
        assert (await visitor.get("/")).status == 200
    assert caplog.records == []
    assert house.events == []
    assert list(house.files.rglob("*.csv")) == []


async def test_a_broken_connection_of_the_house_itself_is_an_error(house: MemoryHouse, visitor: Visitor) -> None:
    house.broken = ConnectionResetError("the database is gone")
    assert (await visitor.get("/web/api/conversations")).status == 500


def connected(visitor: Visitor, request: Request, conversation: str) -> socket.socket:
    """A connection with this much of the request sent."""
    url = visitor.server.make_url("/")
    cookies = visitor.session.cookie_jar.filter_cookies(url)
    cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in cookies.items())
    connection = socket.create_connection((url.host, url.port))
    line = request.line.format(id=conversation)
    head = f"{line} HTTP/1.1\r\nHost: {url.host}\r\nCookie: {cookie}\r\nX-Threadbridge: 1\r\n{request.headers}\r\n"
    connection.sendall(head.encode() + request.body)
    return connection


def leave(connection: socket.socket, way: str) -> None:
    if way == "resets":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
