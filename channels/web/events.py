"""The stream a page listens to: the replies of one conversation as they change (server-sent events)."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress

import orjson
from aiohttp import web

from channels.contract import ConversationKey
from channels.web import render
from channels.web.guard import SECURITY_HEADERS, ConversationVisit, Guard, Refusal
from channels.web.outbound import Follower, LiveReplies
from channels.web.render import LiveReply

_READER_LIMIT = 2_000
_RENDER_SHARE = 0.2  # rendering for one reader takes at most this part of a core: a long text is sent less often


class Events:
    """`GET …/events`. Each event is a whole snapshot, so a reader who missed some has lost nothing."""

    def __init__(
        self,
        guard: Guard,
        live: LiveReplies,
        *,
        takes_feedback: bool = True,
        keep_alive_seconds: float = 15,
        write_timeout_seconds: float = 30,
    ) -> None:
        self._guard = guard
        self._live = live
        self._takes_feedback = takes_feedback
        self._keep_alive_seconds = keep_alive_seconds
        self._write_timeout_seconds = write_timeout_seconds
        self._boot = secrets.token_hex(4)

    def routes(self) -> Sequence[web.AbstractRouteDef]:
        """The stream's route."""
        path = "/web/api/conversations/{conversation}/events"
        return [web.get(path, self._guard.conversation(self._stream), allow_head=False)]

    async def _stream(self, visit: ConversationVisit) -> web.StreamResponse:
        if self._live.is_closed:
            raise Refusal(503, "The bridge is stopping. Try again in a moment.")
        if self._live.follower_count >= _READER_LIMIT:
            raise Refusal(503, "Too many pages are open at once.")
        response = web.StreamResponse(
            headers={
                **SECURITY_HEADERS,
                "Content-Type": "text/event-stream; charset=utf-8",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",  # nginx would hold the stream back
            }
        )
        with self._live.follow(visit.conversation, self._seen_by(visit.request)) as follower:
            await response.prepare(visit.request)
            with suppress(ConnectionResetError, TimeoutError):  # the reader is gone; it asks again when it comes back
                await self._tell(response, follower, visit.conversation)
        return response

    async def _tell(self, response: web.StreamResponse, follower: Follower, key: ConversationKey) -> None:
        await self._write(response, b"retry: 1000\n\n")
        while not follower.is_ended:
            changes = await follower.changes(self._keep_alive_seconds)
            if not changes:
                await self._write(
                    response, b"event: alive\ndata: {}\n\n"
                )  # a comment would not reach the page's script
            for live in changes:
                began = time.perf_counter()
                event = await asyncio.to_thread(self._event, live, key)
                spent = time.perf_counter() - began
                await self._write(response, event)
                await asyncio.sleep(spent * (1 / _RENDER_SHARE - 1))

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        async with asyncio.timeout(self._write_timeout_seconds):
            await response.write(data)

    def _event(self, live: LiveReply, key: ConversationKey) -> bytes:
        data = orjson.dumps(render.snapshot(live, key, thumbs=self._takes_feedback))
        return b"id: %s.%d\nevent: reply\ndata: %s\n\n" % (self._boot.encode(), live.version, data)

    def _seen_by(self, request: web.Request) -> int:
        """The version the reader has seen of this process's; 0 for a reader of an earlier one."""
        boot, _, version = request.headers.get("Last-Event-ID", "").partition(".")
        return int(version) if boot == self._boot and version.isdecimal() and len(version) < 16 else 0
