"""The Bot API's HTTP side: from a URL to a method's result, with limits, faults and the log on the way."""

import socket
import struct
from typing import Any

import orjson
from aiohttp import web

from .api import Arguments, BotApi
from .errors import Refused
from .faults import Fault
from .journal import LoggedCall
from .methods import METHODS
from .parameters import Call, read_call
from .schema import method_name, typed_parameters

API = web.AppKey("api", BotApi)
_INVALID_TOKEN = Refused(401, "Unauthorized: invalid token specified", violation=True)
_NOT_FOUND = Refused(404, "Not Found", violation=True)


class _Lost(Exception):
    """A fault ordered that the client gets no reply."""


async def bot_call(request: web.Request) -> web.Response:
    """`/bot<token>/<method>`, by GET or POST."""
    api = request.app[API]
    name = method_name(request.match_info["method"])
    try:
        if request.match_info["token"] != api.token:
            raise _INVALID_TOKEN
        if name is None:
            raise _NOT_FOUND
        call = await read_call(name, request)
    except Refused as refusal:
        api.journal.violation(request.match_info["method"], refusal.description, {})
        return _answer(refusal)
    logged = api.journal.begin(call)
    try:
        return await _logged_call(api, request, call, logged)
    finally:
        if logged.ended is None:
            api.journal.end(logged, "abandoned")


async def _logged_call(api: BotApi, request: web.Request, call: Call, logged: LoggedCall) -> web.Response:
    fault = api.faults.take(call)
    if fault is not None:
        logged.fault = fault.kind
    try:
        await _before(api, request, call, fault)
        result = await _run(api, call)
        await _after(api, request, fault)
    except Refused as refusal:
        api.journal.end(logged, f"{refusal.code} {refusal.description}")
        if refusal.violation:
            api.journal.violation(call.method, refusal.description, call.parameters)
        return _answer(refusal)
    except _Lost as lost:
        api.journal.end(logged, str(lost))
        return web.Response(status=500)
    api.journal.end(logged, "ok")
    return web.Response(body=orjson.dumps({"ok": True, "result": result}), content_type="application/json")


async def _run(api: BotApi, call: Call) -> Any:
    method = METHODS.get(call.method)
    if method is None:
        raise Refused(501, f"Not Implemented: {call.method} is not simulated", violation=True)
    arguments = Arguments(call.method, typed_parameters(call), dict(call.files))
    weight = len(arguments["media"]) if call.method == "sendMediaGroup" else 1
    api.limits.charge(call.method, _chat_number(call), weight)
    return await method(api, arguments)


def _chat_number(call: Call) -> int:
    """The chat whose rates count; 0 for calls without one, or with a public name."""
    chat_id = str(call.parameters.get("chat_id", 0))
    return int(chat_id) if chat_id.lstrip("-").isdigit() else 0


async def _before(api: BotApi, request: web.Request, call: Call, fault: Fault | None) -> None:
    if fault is None or fault.when != "before" or fault.kind == "lose_reply":
        return
    if fault.kind == "error":
        raise Refused(fault.status, "Bad Gateway" if fault.status == 502 else "Internal Server Error")
    if fault.kind == "flood":
        api.limits.flood(call.method, _chat_number(call), fault.retry_after)
    await _disturb(api, request, fault)


async def _after(api: BotApi, request: web.Request, fault: Fault | None) -> None:
    if fault is None:
        return
    if fault.kind == "lose_reply":
        _close(request)
        raise _Lost("reply lost")
    if fault.when == "after":
        await _disturb(api, request, fault)


async def _disturb(api: BotApi, request: web.Request, fault: Fault) -> None:
    if fault.kind == "delay":
        await api.clock.sleep(fault.seconds)
    elif fault.kind == "hold":
        await api.faults.gates.pass_through(fault.gate)
    elif fault.kind == "reset":
        _reset(request)
        raise _Lost(f"connection reset {fault.when} the effect")


def _close(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()


def _reset(request: web.Request) -> None:
    """Close so that the other side sees a reset rather than an end."""
    if request.transport is not None:
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()


def _answer(refusal: Refused) -> web.Response:
    headers = {}
    if "retry_after" in refusal.parameters:
        headers["Retry-After"] = str(refusal.parameters["retry_after"])
    body = orjson.dumps(refusal.body())
    return web.Response(status=refusal.code, body=body, headers=headers, content_type="application/json")


async def download(request: web.Request) -> web.Response:
    """`/file/bot<token>/<file_path>`."""
    api = request.app[API]
    file = api.world.file_at(request.match_info["path"])
    if request.match_info["token"] != api.token or file is None:
        return _answer(_NOT_FOUND)
    logged = api.journal.begin(Call("download", {"file_path": file.path}, {}))
    api.journal.end(logged, "ok")
    return web.Response(body=file.content, content_type="application/octet-stream")


def add_routes(application: web.Application) -> None:
    application.router.add_route("*", "/bot{token}/{method}", bot_call)
    application.router.add_get("/file/bot{token}/{path:.+}", download)
