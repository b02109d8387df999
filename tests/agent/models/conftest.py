"""A server that speaks the streaming part of the OpenAI API as a script tells it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web


@dataclass
class ModelServer:
    """Answers each request with the next script; the last one is played again and again."""

    url: str = ""
    scripts: list[Any] = field(default_factory=list)
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    connections: list[Any] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    def will_refuse(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self.scripts.append(lambda _: web.Response(status=status, text=json.dumps(body), headers=headers))

    def will_answer_json(self, body: Any) -> None:
        self.scripts.append(lambda _: web.json_response(body))

    def will_stream(self, *pieces: Any, end: str = "done") -> None:
        """Pieces are chunks (dict), raw bytes, or seconds to wait (float); ends: done, open, cut, abort, forever."""
        self.scripts.append((pieces, end))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.json())
        self.connections.append(request.transport.get_extra_info("peername"))
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        if callable(script):
            answer = script(request)
            return await answer if asyncio.iscoroutine(answer) else answer
        return await self._stream(request, *script)

    async def _stream(self, request: web.Request, pieces: Sequence[Any], end: str) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await answer.prepare(request)
        try:
            for piece in pieces:
                if isinstance(piece, float):
                    await asyncio.sleep(piece)
                else:
                    await answer.write(piece if isinstance(piece, bytes) else sse(piece))
            while end == "forever":
                await asyncio.sleep(0.02)
                await answer.write(b": still here\n\n")
        except ConnectionError:
            self.hung_up.set()
            return answer
        if end == "done":
            await answer.write(b"data: [DONE]\n\n")
        if end == "abort":
            request.transport.abort()
        return answer


def sse(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    server = ModelServer()
    app = web.Application()
    app.router.add_post("/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield server
    await runner.cleanup()
