"""The contract suite's bench for the page: the adapter on a real server, and a person whose browser has no screen."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any, ClassVar

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler

from channels.contract import (
    ChoiceSelected,
    ConversationSummary,
    MessageReceived,
    Press,
    SendNowRequested,
    StopRequested,
)
from channels.web.adapter import WebChannel
from channels.web.config import WebConfig
from channels.web.ids import make_key, new_id
from tests.contracts.host import HouseRefused, MemoryHost

HEADERS = {"X-Threadbridge": "1"}


class WebHarness:
    """Ana and one conversation on the page."""

    has_no: ClassVar[Mapping[str, str]] = {
        "test_a_file_comes_in_as_it_was_sent": "a file goes straight into the thread and is never downloaded",
        "test_a_file_that_is_gone_or_too_large_says_why": "a file goes straight into the thread and is never downloaded",
        "test_a_limit_is_honoured_and_the_answer_comes_once": "a page of ours limits no rate",
        "test_a_lost_reply_leads_to_a_repeat_that_says_so": "nothing is posted to another server",
        "test_no_secret_is_logged_or_raised": "it holds no credential of another server",
    }

    def __init__(self, platform: None) -> None:
        self.host = MemoryHost()
        self.secrets: list[str] = []

    @classmethod
    @asynccontextmanager
    async def platform(cls) -> AsyncIterator[None]:
        yield None

    async def open(self, folder: Path) -> None:
        self.folder = folder
        self.conversation = new_id()
        await self._start()
        self.ana = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        async with self.ana.get(self.server.make_url("/")) as page:
            cookie = page.cookies["threadbridge_person"].value
        self.secrets = [cookie, (folder / "web-secret").read_bytes().hex()]
        assert await self._post("", {"id": self.conversation}) == 201
        key = make_key(cookie.partition(".")[0], self.conversation)
        self.host.summaries[key] = ConversationSummary(key, "", datetime.now(UTC), is_running=False)

    async def close(self) -> None:
        await self.ana.close()
        await self.channel.stop()
        await self.server.close()
        await self.channel.close()

    async def restart(self) -> None:
        port = self.server.port
        await self.channel.stop()
        await self.server.close()
        await self.channel.close()
        await self._start(port)

    async def say(self, text: str, file: tuple[str, bytes] | None = None) -> MessageReceived:
        assert file is None
        event = None
        body = {"client_id": new_id(), "text": text}
        while event is None:  # as the page does: under the same id, until the bridge says that it has it
            if await self._post(f"/{self.conversation}/messages", body) == 202:
                event = self.host.events[-1]
        assert isinstance(event, MessageReceived)
        return event

    async def deliver_again(self, event: MessageReceived) -> None:
        body = {"client_id": event.message_id, "text": event.text}
        assert await self._post(f"/{self.conversation}/messages", body) == 202

    async def shown(self, event: MessageReceived) -> str:
        return "\n".join(
            _words(part) for reply in await self._replies() if reply["phase"] != "working" for part in reply["parts"]
        )

    async def preview(self, event: MessageReceived) -> str:
        return "\n".join(_words(part) for reply in await self._replies() for part in reply["parts"])

    async def files_shown(self, event: MessageReceived) -> list[bytes]:
        contents = []
        for part in (part for reply in await self._replies() for part in reply["parts"] if part["kind"] == "artifact"):
            async with self.ana.get(self.server.make_url("/" + part["url"])) as response:
                contents += [await response.read()] if response.status == 200 else []
        return contents

    async def press(self, event: MessageReceived, label: str) -> Press:
        if label in {"⏹ Stop", "✖️ Drop", "▶️ Send now"}:
            run = next(reply["run_id"] for reply in await self._replies() if reply["can_stop"] or reply["waits"])
            action = "send-now" if label == "▶️ Send now" else "stop"
            status = await self._post(f"/{self.conversation}/{action}", {"client_id": new_id(), "run_id": run})
        else:
            body = {"client_id": new_id(), **await self._choice(label)}
            status = await self._post(f"/{self.conversation}/press", body)
        assert status == 202
        pressed = self.host.events[-1]
        assert isinstance(pressed, ChoiceSelected | StopRequested | SendNowRequested)
        return pressed

    async def press_answer(self, press: Press) -> str | None:
        return None

    async def refuse_next_posts(self, count: int, retry_after_seconds: int) -> None:
        raise NotImplementedError

    async def lose_next_reply(self) -> None:
        raise NotImplementedError

    async def violations(self) -> list[Any]:
        return []

    async def _start(self, port: int | None = None) -> None:
        self.channel = WebChannel(WebConfig(), state_dir=self.folder)
        app = web.Application(middlewares=[_refusals])
        app.add_routes(self.channel.http_routes())
        self.server = TestServer(app, port=port or 0)
        await self.channel.start(self.host)
        await self.server.start_server()

    async def _post(self, path: str, body: dict[str, Any]) -> int:
        url = self.server.make_url(f"/web/api/conversations{path}")
        async with self.ana.post(url, json=body, headers=HEADERS) as response:
            return response.status

    async def _replies(self) -> list[dict[str, Any]]:
        url = self.server.make_url(f"/web/api/conversations/{self.conversation}/messages")
        async with self.ana.get(url) as response:
            assert response.status == 200
            return [item for item in (await response.json())["items"] if item["kind"] == "reply"]

    async def _choice(self, label: str) -> dict[str, Any]:
        parts = [part for reply in await self._replies() for part in reply["parts"] if part["kind"] == "clarification"]
        return next(
            {"token": part["token"], "option": position}
            for part in parts
            for position, option in enumerate(part["options"])
            if option["label"] == label
        )


@web.middleware
async def _refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
    """As the gateway does: what a person can mend is not a failure of the server."""
    try:
        return await handler(request)
    except HouseRefused as refused:
        return web.json_response({"detail": refused.user_message}, status=404)


def _words(part: dict[str, Any]) -> str:
    """What the page writes for a part."""
    match part["kind"]:
        case "text":
            return _plain(part["html"])
        case "clarification":
            answered = f"{part['answered_by']} chose {part['answer']}" if part["state"] == "answered" else ""
            return f"{_plain(part['question_html'])} {answered or part['closed_words']}"
        case "notice":
            return str(part["text"])
        case "artifact":
            return str(part["name"])
        case _:
            return ""


def _plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))
