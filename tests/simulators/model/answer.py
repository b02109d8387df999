"""Performs the steps of one answer, as a stream of server-sent events or as one JSON body."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import orjson
from aiohttp import web

from .encoding import DONE, ChunkEncoder, tokens
from .journal import LoggedRequest
from .provider import Provider
from .script import Cut, Finish, Gate, Reasoning, Stall, Step, Text, ToolCall

_WRITE_BYTES = 16 * 1024
_EVENT_STREAM = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}


class Answer:
    """One answer while it is given."""

    def __init__(self, provider: Provider, body: dict[str, Any], logged: LoggedRequest) -> None:
        self._provider = provider
        self._body = body
        self._logged = logged
        self._created = int(time.time())
        self._identity = f"chatcmpl-{logged.number:08d}"
        self._finish_reason: str | None = None
        self._calls: list[dict[str, Any]] = []
        self._tokens = 0

    async def stream(self, request: web.Request, steps: Sequence[Step]) -> web.StreamResponse:
        """Server-sent events; a `Cut` ends them without a finish reason."""
        response = web.StreamResponse(headers=_EVENT_STREAM)
        response.enable_chunked_encoding()
        await response.prepare(request)
        encoder = ChunkEncoder(self._identity, self._body.get("model", "fake"), self._created)
        await response.write(encoder.delta({"role": "assistant", "content": ""}))
        for step in steps:
            if isinstance(step, Cut):
                return self._cut(request, response)
            await self._stream_step(step, encoder, response)
        end = encoder.delta({}, self._reason())
        if (self._body.get("stream_options") or {}).get("include_usage"):
            end += encoder.usage(self._usage())
        await response.write(end + DONE)
        await response.write_eof()
        self._provider.journal.end(self._logged, "ok")
        return response

    async def _stream_step(self, step: Step, encoder: ChunkEncoder, response: web.StreamResponse) -> None:
        if isinstance(step, Text):
            await self._stream_text(step, encoder, response)
        elif isinstance(step, Reasoning):
            await response.write(b"".join(encoder.delta({"reasoning_content": part}) for part in tokens(step.text)))
        elif isinstance(step, ToolCall):
            call = self._called(step)
            for event in encoder.tool_call(len(self._calls) - 1, call):
                await response.write(event)
        else:
            await self._pause(step)

    async def _stream_text(self, step: Text, encoder: ChunkEncoder, response: web.StreamResponse) -> None:
        parts = tokens(step.text)
        self._tokens += len(parts)
        events = [encoder.text(part) for part in parts]
        if step.tokens_per_second <= 0:
            await self._write_at_once(events, response)
        else:
            await self._write_paced(events, step.tokens_per_second, response)

    async def _write_at_once(self, events: Sequence[bytes], response: web.StreamResponse) -> None:
        self._token_comes()
        everything = b"".join(events)
        for begin in range(0, len(everything), _WRITE_BYTES):
            await response.write(everything[begin : begin + _WRITE_BYTES])

    async def _write_paced(self, events: Sequence[bytes], pace: float, response: web.StreamResponse) -> None:
        """Each event at its time; what is overdue goes out together."""
        clock = self._provider.clock
        began, written = clock.now(), 0
        while written < len(events):
            due = int((clock.now() - began) * pace) + 1
            if due > written:
                self._token_comes()
                await response.write(b"".join(events[written:due]))
                written = due
            await clock.sleep(max(began + written / pace - clock.now(), 0))

    def _token_comes(self) -> None:
        if self._logged.first_token is None:
            self._logged.first_token = time.monotonic()

    def _cut(self, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.close()
        self._provider.journal.end(self._logged, "cut")
        return response

    async def whole(self, request: web.Request, steps: Sequence[Step]) -> web.StreamResponse:
        """The same answer as one JSON body."""
        text = ""
        for step in steps:
            if isinstance(step, Cut):
                return self._cut(request, web.Response(status=500))
            if isinstance(step, Text):
                parts = tokens(step.text)
                self._tokens += len(parts)
                text += step.text
                if step.tokens_per_second > 0:
                    await self._provider.clock.sleep(len(parts) / step.tokens_per_second)
            elif isinstance(step, ToolCall):
                self._called(step)
            else:
                await self._pause(step)
        self._token_comes()
        self._provider.journal.end(self._logged, "ok")
        return web.Response(body=orjson.dumps(self._completion(text)), content_type="application/json")

    async def _pause(self, step: Step) -> None:
        if isinstance(step, Stall):
            await self._provider.clock.sleep(step.seconds)
        elif isinstance(step, Gate):
            await self._provider.gates.pass_through(step.name)
        elif isinstance(step, Finish):
            self._finish_reason = step.reason
        await asyncio.sleep(0)

    def _called(self, step: ToolCall) -> dict[str, Any]:
        self._token_comes()
        call = self._provider.tool_call(step)
        self._calls.append(call)
        self._tokens += 10
        return call

    def _reason(self) -> str:
        return self._finish_reason or ("tool_calls" if self._calls else "stop")

    def _usage(self) -> dict[str, int]:
        prompt = len(orjson.dumps(self._body["messages"])) // 4
        return {"prompt_tokens": prompt, "completion_tokens": self._tokens, "total_tokens": prompt + self._tokens}

    def _completion(self, text: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if self._calls:
            message["tool_calls"] = self._calls
        return {
            "id": self._identity, "object": "chat.completion", "created": self._created,
            "model": self._body.get("model", "fake"), "usage": self._usage(),
            "choices": [{"index": 0, "message": message, "finish_reason": self._reason()}],
        }  # fmt: skip
