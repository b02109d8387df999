"""LangGraph's runs: start, follow, wait for, stop and forget them."""

from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Literal
from urllib.parse import urlencode

from aiohttp import web

from bridge.gateway import sse
from bridge.gateway.abandoned import AbandonedRuns
from bridge.gateway.bodies import Bodies, read_query
from bridge.gateway.encoding import json_response
from bridge.gateway.live import LiveResponses
from bridge.gateway.outcomes import outcome_of
from bridge.gateway.requests import CancelRun, CreateRun, JoinStream, ListRuns
from bridge.gateway.responses import run_json
from bridge.gateway.routes.ids import path_id
from bridge.runs.jsonable import to_json
from bridge.runs.manager import RunManager
from bridge.runs.records import PartId, RunRecord
from bridge.threads import ThreadService


class RunRoutes:
    """The resource `/threads/{thread_id}/runs`."""

    def __init__(
        self,
        manager: RunManager,
        threads: ThreadService,
        *,
        bodies: Bodies,
        live: LiveResponses,
        abandoned: AbandonedRuns,
    ) -> None:
        self._manager = manager
        self._threads = threads
        self._bodies = bodies
        self._live = live
        self._abandoned = abandoned

    def routes(self, prefix: str) -> Sequence[web.RouteDef]:
        """Every route, under one prefix."""
        runs = f"{prefix}/threads/{{thread_id}}/runs"
        run = f"{runs}/{{run_id}}"
        return [
            web.post(runs, self._create),
            web.post(f"{runs}/stream", self._create_and_stream),
            web.post(f"{runs}/wait", self._create_and_wait),
            web.get(runs, self._list),
            web.get(run, self._get),
            web.delete(run, self._delete),
            web.get(f"{run}/join", self._join, allow_head=False),
            web.get(f"{run}/stream", self._join_stream, allow_head=False),
            web.post(f"{run}/cancel", self._cancel),
        ]

    async def _create(self, request: web.Request) -> web.Response:
        body = await self._bodies.read(request, CreateRun)
        run = await self._manager.create(body.new_run(path_id(request, "thread_id")))
        return json_response(run_json(run), headers=_links(request, run, "join"))

    async def _create_and_stream(self, request: web.Request) -> web.StreamResponse:
        body = await self._bodies.read(request, CreateRun)
        run = await self._manager.create(body.new_run(path_id(request, "thread_id"), default_modes=("values",)))
        return await self._stream(request, run, JoinStream(cancel_on_disconnect=body.on_disconnect == "cancel"))

    async def _create_and_wait(self, request: web.Request) -> web.StreamResponse:
        body = await self._bodies.read(request, CreateRun)
        run = await self._manager.create(body.new_run(path_id(request, "thread_id"), default_modes=("values",)))
        return await self._wait(request, run, cancel_on_disconnect=body.on_disconnect == "cancel")

    async def _list(self, request: web.Request) -> web.Response:
        asked = read_query(request, ListRuns)
        thread = await self._threads.get(path_id(request, "thread_id"))
        if asked.status == "timeout":
            return json_response([])
        runs = await self._manager.list(thread.thread_id, limit=asked.limit, offset=asked.offset, status=asked.status)
        return json_response([run_json(run) for run in runs])

    async def _get(self, request: web.Request) -> web.Response:
        return json_response(run_json(await self._run(request)))

    async def _delete(self, request: web.Request) -> web.Response:
        await self._manager.delete(path_id(request, "thread_id"), path_id(request, "run_id"))
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def _join(self, request: web.Request) -> web.StreamResponse:
        return await self._wait(request, await self._run(request), cancel_on_disconnect=False)

    async def _join_stream(self, request: web.Request) -> web.StreamResponse:
        asked = read_query(request, JoinStream)
        after = sse.last_event_id(request.headers.get("Last-Event-ID"))
        return await self._stream(request, await self._run(request), asked, after=after)

    async def _cancel(self, request: web.Request) -> web.Response:
        asked = read_query(request, CancelRun)
        run = await self._run(request)
        await self._manager.cancel(run.run_id, asked.action, wait=asked.wait)
        if asked.wait:
            return web.Response(status=HTTPStatus.NO_CONTENT, headers=_links(request, run, "join"))
        return json_response({}, status=HTTPStatus.ACCEPTED)

    async def _run(self, request: web.Request) -> RunRecord:
        return await self._manager.get(path_id(request, "thread_id"), path_id(request, "run_id"))

    async def _stream(
        self, request: web.Request, run: RunRecord, asked: JoinStream, *, after: PartId | None = None
    ) -> web.StreamResponse:
        shown = sse.Shown.of(run, asked.stream_mode)
        with self._abandoned.reading(run.run_id):
            return await self._live.send(
                request,
                sse.events(self._manager.stream(run.run_id, after=after), shown),
                headers=sse.HEADERS | _links(request, run, "stream", _again(asked)),
                filler=sse.HEARTBEAT,
                on_gone=self._on_gone(run, cancel=asked.cancel_on_disconnect),
            )

    async def _wait(self, request: web.Request, run: RunRecord, *, cancel_on_disconnect: bool) -> web.StreamResponse:
        with self._abandoned.reading(run.run_id):
            return await self._live.send(
                request,
                self._outcome(run.run_id),
                headers={"Content-Type": "application/json"} | _links(request, run, "join"),
                filler=b"\n",  # white space before the JSON keeps the connection alive and changes nothing
                on_gone=self._on_gone(run, cancel=cancel_on_disconnect),
            )

    async def _outcome(self, run_id: str) -> AsyncGenerator[bytes, None]:
        yield to_json(await outcome_of(await self._manager.wait(run_id), self._threads))

    def _on_gone(self, run: RunRecord, *, cancel: bool) -> Callable[[], None]:
        return partial(self._abandoned.leave, run.run_id) if cancel else _let_go


def _let_go() -> None:
    """A reader that left wants nothing more of its run."""


def _again(asked: JoinStream) -> str:
    """The query with which a reader that was cut off comes back to see the same."""
    wishes: list[tuple[str, str]] = [("stream_mode", mode) for mode in asked.stream_mode]
    if asked.cancel_on_disconnect:
        wishes.append(("cancel_on_disconnect", "true"))
    return f"?{urlencode(wishes)}" if wishes else ""


def _links(request: web.Request, run: RunRecord, sequel: Literal["stream", "join"], query: str = "") -> dict[str, str]:
    """Where the run is, and where a client whose connection was cut goes on.

    `Location` stands without the prefix: the SDK appends it to its base URL, which holds the prefix, also behind a
    proxy that changes it.
    """
    path = f"/threads/{run.thread_id}/runs/{run.run_id}"
    prefix = request.path.partition("/threads/")[0]
    return {"Location": f"{path}/{sequel}{query}", "Content-Location": f"{prefix}{path}"}
