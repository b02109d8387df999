"""How the program is: for people and monitors, for containers, and for the SDK."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version

from aiohttp import web

from bridge.gateway.encoding import json_response
from channels.contract import ChannelHealth

HealthOfChannels = Callable[[], Mapping[str, ChannelHealth]]


class HealthRoutes:
    """`/health` says whether everything enabled works, `/health/live` only that the process answers."""

    def __init__(self, health: HealthOfChannels) -> None:
        self._health = health

    def routes(self) -> Sequence[web.RouteDef]:
        """Those at the root, open to everybody."""
        return [web.get("/health", self._report), web.get("/health/live", self._live)]

    def api_routes(self, prefix: str) -> Sequence[web.RouteDef]:
        """What clients of LangGraph's API ask about the server."""
        return [web.get(f"{prefix}/ok", self._ok), web.get(f"{prefix}/info", self._info)]

    async def _report(self, _request: web.Request) -> web.Response:
        channels = self._health()
        unwell = [f"{name}: {health.detail or 'down'}" for name, health in channels.items() if not health.ok]
        report = {
            "status": "unwell" if unwell else "ok",
            "channels": {name: {"ok": health.ok, "detail": health.detail} for name, health in channels.items()},
        }
        if unwell:
            return json_response({"detail": "; ".join(unwell), **report}, status=HTTPStatus.SERVICE_UNAVAILABLE)
        return json_response(report)

    async def _live(self, _request: web.Request) -> web.Response:
        return json_response({"status": "ok"})

    async def _ok(self, _request: web.Request) -> web.Response:
        return json_response({"ok": True})

    async def _info(self, _request: web.Request) -> web.Response:
        flags = {"assistants": False, "crons": False, "langsmith": False, "strict_resume": False}
        return json_response(
            {"version": version("threadbridge"), "langgraph_py_version": version("langgraph"), "flags": flags}
        )
