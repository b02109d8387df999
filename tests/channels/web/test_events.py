import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from channels.contract import Reply, ReplyPhase, Text
from channels.web.adapter import WebChannel
from channels.web.config import WebConfig
from tests.channels.web.conftest import Visitor
from tests.channels.web.house import MemoryHouse, deliver, open_house


class Stream:
    """What an EventSource hears."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self, kind: str = "reply") -> dict[str, str]:
        while True:
            block = await asyncio.wait_for(self.response.content.readuntil(b"\n\n"), 5)
            fields = dict(line.split(": ", 1) for line in block.decode().strip().split("\n"))
            if fields.get("event") == kind:
                return fields

    async def reply(self) -> Any:
        return json.loads((await self.next())["data"])

    async def is_over(self) -> bool:
        rest = await asyncio.wait_for(self.response.content.read(), 5)
        return b"event: reply" not in rest


@asynccontextmanager
async def listening(visitor: Visitor, conversation: str, last: str | None = None) -> AsyncIterator[Stream]:
    headers = {"Last-Event-ID": last} if last else {}
    async with visitor.session.get(
        visitor.server.make_url(f"/web/api/conversations/{conversation}/events"), headers=headers
    ) as response:
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        yield Stream(response)


def reply(text: str, phase: ReplyPhase = ReplyPhase.WORKING) -> Reply:
    return Reply((Text("m", text),), phase, "run-1")


async def test_a_listener_sees_the_answer_grow(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    async with listening(visitor, conversation) as stream:
        await deliver(house, visitor.key(conversation), reply("one"), "d1", "m1")
        first = await stream.reply()
        await deliver(house, visitor.key(conversation), reply("one two", ReplyPhase.FINAL), "d1", "m1")
        last = await stream.reply()
    assert (first["reply_id"], first["reply_to"], first["phase"]) == ("run-1", "m1", "working")
    assert (last["reply_id"], last["phase"]) == ("run-1", "final")
    assert last["parts"][0]["html"] == "<p>one two</p>\n"


async def test_who_comes_later_gets_the_newest_at_once(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    for words in ("one", "one two"):
        await deliver(house, visitor.key(conversation), reply(words), "d1")
    async with listening(visitor, conversation) as stream:
        assert (await stream.reply())["parts"][0]["html"] == "<p>one two</p>\n"


async def test_who_comes_back_does_not_get_what_they_saw(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    await deliver(house, visitor.key(conversation), reply("one"), "d1")
    async with listening(visitor, conversation) as stream:
        seen = (await stream.next())["id"]
    async with listening(visitor, conversation, last=seen) as stream:
        await deliver(house, visitor.key(conversation), reply("one two"), "d1")
        assert (await stream.reply())["parts"][0]["html"] == "<p>one two</p>\n"


async def test_an_id_of_an_earlier_process_or_a_broken_one_gets_everything(
    house: MemoryHouse, visitor: Visitor
) -> None:
    conversation = await visitor.new_conversation()
    await deliver(house, visitor.key(conversation), reply("one"), "d1")
    for last in ("deadbeef.999", "x", "....", "deadbeef." + "9" * 100):
        async with listening(visitor, conversation, last=last) as stream:
            assert (await stream.reply())["reply_id"] == "run-1"


async def test_each_listener_hears_its_own_conversation_only(house: MemoryHouse, visitor: Visitor) -> None:
    mine, other = await visitor.new_conversation(), await visitor.new_conversation()
    async with listening(visitor, mine) as stream:
        await deliver(house, visitor.key(other), reply("elsewhere"), "d2")
        await deliver(house, visitor.key(mine), reply("here"), "d1")
        assert (await stream.reply())["parts"][0]["html"] == "<p>here</p>\n"


async def test_a_stop_of_the_channel_ends_the_streams_at_once(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    assert house.channel is not None
    async with listening(visitor, conversation) as stream:
        await house.channel.stop()
        assert await stream.is_over()
    assert (await visitor.get(f"/web/api/conversations/{conversation}/events")).status == 503


async def test_an_open_stream_does_not_hold_up_a_server_that_closes(visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    async with listening(visitor, conversation), asyncio.timeout(3):  # the stop of the channel comes first
        await visitor.server.close()


async def test_a_quiet_stream_shows_that_it_lives(house: MemoryHouse, visitor: Visitor, tmp_path: Path) -> None:
    conversation = await visitor.new_conversation()
    channel = WebChannel(WebConfig(), state_dir=tmp_path / "state", keep_alive_seconds=0.05)
    quick = await open_house(house, tmp_path / "state", channel=channel)
    visitor.server = quick
    try:
        async with listening(visitor, conversation) as stream:
            for _ in range(3):
                assert (await stream.next("alive"))["data"] == "{}"
    finally:
        await quick.close()


async def test_a_reader_who_does_not_read_harms_nobody(house: MemoryHouse, visitor: Visitor) -> None:
    conversation = await visitor.new_conversation()
    async with listening(visitor, conversation), listening(visitor, conversation) as stream:
        for number in range(40):
            await deliver(house, visitor.key(conversation), reply(f"{number} " + "word " * 8_000), "d1")
        await deliver(house, visitor.key(conversation), reply("the end", ReplyPhase.FINAL), "d1")
        while (last := await stream.reply())["phase"] != "final":
            pass
        assert last["parts"][0]["html"] == "<p>the end</p>\n"
