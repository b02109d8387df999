"""LangGraph's threads: create, get, delete, their state and its history."""

from collections.abc import Sequence
from http import HTTPStatus

from aiohttp import web

from bridge.errors import NotFound
from bridge.gateway.bodies import Bodies, read_query
from bridge.gateway.encoding import json_response
from bridge.gateway.requests import CreateThread, History, StateAtCheckpoint, StateQuery
from bridge.gateway.responses import state_json, thread_json
from bridge.gateway.routes.ids import path_id
from bridge.threads import ThreadService


class ThreadRoutes:
    """The resource `/threads`."""

    def __init__(self, threads: ThreadService, bodies: Bodies) -> None:
        self._threads = threads
        self._bodies = bodies

    def routes(self, prefix: str) -> Sequence[web.RouteDef]:
        """Every route, under one prefix."""
        thread = f"{prefix}/threads/{{thread_id}}"
        return [
            web.post(f"{prefix}/threads", self._create),
            web.get(thread, self._get),
            web.delete(thread, self._delete),
            web.get(f"{thread}/state", self._state),
            web.get(f"{thread}/state/{{checkpoint_id}}", self._state_at),
            web.post(f"{thread}/state/checkpoint", self._state_of_checkpoint),
            web.get(f"{thread}/history", self._history_by_query),
            web.post(f"{thread}/history", self._history_by_body),
        ]

    async def _create(self, request: web.Request) -> web.Response:
        body = await self._bodies.read(request, CreateThread)
        thread = await self._threads.create(
            body.thread_id, metadata=body.metadata, if_exists=body.if_exists, user_id="default"
        )
        return json_response(thread_json(thread))

    async def _get(self, request: web.Request) -> web.Response:
        thread = await self._threads.get(path_id(request, "thread_id"))
        return json_response(thread_json(thread, await self._threads.state(thread.thread_id)))

    async def _delete(self, request: web.Request) -> web.Response:
        await self._threads.delete(path_id(request, "thread_id"))
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def _state(self, request: web.Request) -> web.Response:
        return await self._answer_state(request, None, subgraphs=read_query(request, StateQuery).subgraphs)

    async def _state_at(self, request: web.Request) -> web.Response:
        checkpoint_id = path_id(request, "checkpoint_id")
        return await self._answer_state(request, checkpoint_id, subgraphs=read_query(request, StateQuery).subgraphs)

    async def _state_of_checkpoint(self, request: web.Request) -> web.Response:
        body = await self._bodies.read(request, StateAtCheckpoint)
        return await self._answer_state(request, body.checkpoint.checkpoint_id, subgraphs=body.subgraphs)

    async def _answer_state(self, request: web.Request, checkpoint_id: str | None, *, subgraphs: bool) -> web.Response:
        thread = await self._threads.get(path_id(request, "thread_id"))
        state = await self._threads.state(thread.thread_id, checkpoint_id, subgraphs=subgraphs)
        if checkpoint_id is not None and state.metadata is None:
            raise NotFound(f"there is no checkpoint {checkpoint_id}")
        return json_response(state_json(thread.thread_id, state))

    async def _history_by_query(self, request: web.Request) -> web.Response:
        return await self._answer_history(request, read_query(request, History))

    async def _history_by_body(self, request: web.Request) -> web.Response:
        return await self._answer_history(request, await self._bodies.read(request, History))

    async def _answer_history(self, request: web.Request, asked: History) -> web.Response:
        thread = await self._threads.get(path_id(request, "thread_id"))
        states = await self._threads.history(
            thread.thread_id, limit=asked.limit, before=asked.before_id, metadata=asked.metadata or None
        )
        return json_response([state_json(thread.thread_id, state) for state in states])
