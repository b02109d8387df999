"""The control side under `/control`: scripts, gates, and what was asked."""

from typing import Any

import orjson
from aiohttp import web

from .script import Script, load
from .server import PROVIDER


def _json(value: Any) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


async def add_script(request: web.Request) -> web.Response:
    body = await request.json()
    steps = [load(step) for step in body["steps"]]
    request.app[PROVIDER].scripts.add(Script(steps, body["match"], body["times"]))
    return _json({})


async def clear_scripts(request: web.Request) -> web.Response:
    provider = request.app[PROVIDER]
    provider.scripts.clear()
    provider.gates.release_all()
    return _json({})


async def wait_for_gate(request: web.Request) -> web.Response:
    await request.app[PROVIDER].gates.reached(request.match_info["name"])
    return _json({})


async def release_gate(request: web.Request) -> web.Response:
    request.app[PROVIDER].gates.release(request.match_info["name"])
    return _json({})


async def requests(request: web.Request) -> web.Response:
    after = int(request.query.get("after", 0))
    with_bodies = request.query.get("bodies", "1") == "1"
    found = [logged.view() for logged in request.app[PROVIDER].journal.requests if logged.number > after]
    return _json(found if with_bodies else [{**logged, "body": None} for logged in found])


async def asked(request: web.Request) -> web.Response:
    return _json(dict(request.app[PROVIDER].journal.asked))


async def violations(request: web.Request) -> web.Response:
    return _json(request.app[PROVIDER].journal.violations)


ROUTES = [
    web.post("/control/scripts", add_script),
    web.delete("/control/scripts", clear_scripts),
    web.get("/control/gates/{name}", wait_for_gate),
    web.delete("/control/gates/{name}", release_gate),
    web.get("/control/requests", requests),
    web.get("/control/asked", asked),
    web.get("/control/violations", violations),
]
