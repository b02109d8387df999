"""The model server's HTTP side: `POST /v1/chat/completions`, streaming or not."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import orjson
from aiohttp import web

from .answer import Answer
from .journal import LoggedRequest
from .provider import Provider
from .provider_rules import BrokenRule, check_request
from .script import HttpError

PROVIDER = web.AppKey("provider", Provider)


async def completions(request: web.Request) -> web.StreamResponse:
    provider = request.app[PROVIDER]
    if request.headers.get("Authorization") != f"Bearer {provider.api_key}":
        return _error(401, "Incorrect API key provided.", "invalid_api_key")
    raw = await request.read()
    try:
        body = orjson.loads(raw)
        check_request(body, provider.reused_call_ids)
    except (BrokenRule, orjson.JSONDecodeError) as broken:
        provider.journal.violations.append({"rule": str(broken), "body": raw.decode(errors="replace")})
        return _error(400, str(broken))
    prompt = last_user_text(body["messages"])
    logged = provider.journal.begin(prompt, raw)
    try:
        return await _reply(provider, request, body, logged)
    except (ConnectionResetError, asyncio.CancelledError):
        provider.journal.end(logged, "abandoned")
        raise


async def _reply(
    provider: Provider, request: web.Request, body: dict[str, Any], logged: LoggedRequest
) -> web.StreamResponse:
    steps = provider.steps(logged.prompt, body["messages"])
    if steps and isinstance(steps[0], HttpError):
        provider.journal.end(logged, f"error {steps[0].status}")
        return _error(steps[0].status, steps[0].message, steps[0].code, dict(steps[0].headers))
    answer = Answer(provider, body, logged)
    if body.get("stream"):
        return await answer.stream(request, steps)
    return await answer.whole(request, steps)


def last_user_text(messages: Sequence[dict[str, Any]]) -> str:
    """The text of the last user message; scripts, directives and counts go by it."""
    content = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _error(status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None) -> web.Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return web.Response(status=status, body=orjson.dumps(error), headers=headers, content_type="application/json")


async def models(request: web.Request) -> web.Response:
    described = {"object": "list", "data": [{"id": "fake", "object": "model", "created": int(time.time())}]}
    return web.json_response(described)
