"""A gateway on a free port in front of a house in memory, whose runs say what the test lets them say."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import count
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from langgraph.types import StateSnapshot
from yarl import URL

from bridge.errors import AlreadyExists, InvalidRequest, NotFound, RunFinished, ThreadBusy
from bridge.gateway.config import GatewayConfig
from bridge.gateway.server import Gateway
from bridge.persistence.threads import ThreadRecord, ThreadStatus
from bridge.runs.jsonable import to_json
from bridge.runs.records import CancelAction, NewRun, PartId, RunRecord, RunStatus, StreamPart
from channels.contract import ChannelHealth

NOW = datetime(2026, 12, 1, tzinfo=UTC)


class MemoryThreads:
    """Threads that remember nothing but their names."""

    def __init__(self) -> None:
        self.rows: dict[str, ThreadRecord] = {}
        self.values: dict[str, Any] = {"messages": []}
        self.failure: Exception | None = None

    async def create(
        self, thread_id: str | None, *, metadata: Mapping[str, Any], if_exists: str, user_id: str
    ) -> ThreadRecord:
        name = thread_id or f"thread-{len(self.rows)}"
        if name in self.rows and if_exists == "raise":
            raise AlreadyExists(f"thread {name} exists")
        row = ThreadRecord(name, "lead_agent", user_id, None, ThreadStatus.IDLE, metadata, NOW, NOW)
        return self.rows.setdefault(name, row)

    async def get(self, thread_id: str) -> ThreadRecord:
        if self.failure:
            raise self.failure
        if thread_id not in self.rows:
            raise NotFound(f"no thread {thread_id}")
        return self.rows[thread_id]

    async def delete(self, thread_id: str) -> None:
        await self.get(thread_id)
        del self.rows[thread_id]

    async def state(
        self, thread_id: str, checkpoint_id: str | None = None, *, subgraphs: bool = False
    ) -> StateSnapshot:
        return StateSnapshot(self.values, (), {"configurable": {}}, None, None, None, (), ())

    async def history(self, thread_id: str, **_asked: Any) -> list[StateSnapshot]:
        return []

    async def final_values(self, run: RunRecord) -> Mapping[str, Any]:
        return self.values


class ScriptedRuns:
    """Runs that do what the test says: `say` a part, `end`."""

    def __init__(self, threads: MemoryThreads) -> None:
        self.requests: list[NewRun] = []
        self.cancelled: list[str] = []
        self._threads = threads
        self._rows: dict[str, RunRecord] = {}
        self._parts: dict[str, list[StreamPart]] = {}
        self._news = asyncio.Condition()
        self._names = (f"run-{n}" for n in count())

    async def create(self, request: NewRun) -> RunRecord:
        if request.if_not_exists == "reject":
            await self._threads.get(request.thread_id)
        if request.assistant_id != "lead_agent":
            raise InvalidRequest(f"no assistant {request.assistant_id}")
        if any(row.thread_id == request.thread_id and not row.status.is_final for row in self._rows.values()):
            raise ThreadBusy("Thread is already running a task.")
        self.requests.append(request)
        run_id = next(self._names)
        self._rows[run_id] = RunRecord(
            run_id,
            request.thread_id,
            request.assistant_id,
            request.user_id,
            RunStatus.RUNNING,
            request.spec,
            request.metadata,
            request.multitask,
            NOW,
            NOW,
        )
        self._parts[run_id] = []
        await self.say(run_id, "metadata", {"run_id": run_id, "attempt": 1})
        return self._rows[run_id]

    async def say(self, run_id: str, mode: str, data: Any, namespace: tuple[str, ...] = ()) -> None:
        async with self._news:
            part_id = PartId(1, len(self._parts[run_id]) + 1)
            self._parts[run_id].append(StreamPart(part_id, mode, namespace, to_json(data)))
            self._news.notify_all()

    async def end(
        self, run_id: str, status: RunStatus = RunStatus.SUCCESS, error: Mapping[str, str] | None = None
    ) -> None:
        self._rows[run_id] = dataclasses.replace(self._rows[run_id], status=status, error=error)
        if error:
            await self.say(run_id, "error", error)
        await self.say(run_id, "end", None)

    async def get(self, thread_id: str, run_id: str) -> RunRecord:
        row = self._rows.get(run_id)
        if row is None or row.thread_id != thread_id:
            raise NotFound(f"no run {run_id}")
        return row

    async def list(self, thread_id: str, **_asked: Any) -> list[RunRecord]:
        return [row for row in self._rows.values() if row.thread_id == thread_id]

    async def stream(self, run_id: str, *, after: PartId | None = None) -> AsyncIterator[StreamPart]:
        position = 0
        while True:
            async with self._news:
                while len(self._parts[run_id]) <= position:
                    await self._news.wait()
            part = self._parts[run_id][position]
            position += 1
            if after is None or part.id > after:
                yield part
            if part.mode == "end":
                return

    async def wait(self, run_id: str) -> RunRecord:
        async with self._news:
            await self._news.wait_for(lambda: self._rows[run_id].status.is_final)
        return self._rows[run_id]

    async def cancel(
        self, run_id: str, action: CancelAction = CancelAction.INTERRUPT, *, wait: bool = False
    ) -> RunRecord:
        if self._rows[run_id].status in {RunStatus.SUCCESS, RunStatus.ERROR}:
            raise RunFinished("the run has ended")
        self.cancelled.append(run_id)
        await self.end(run_id, RunStatus.INTERRUPTED)
        return self._rows[run_id]

    async def delete(self, thread_id: str, run_id: str) -> None:
        await self.get(thread_id, run_id)
        del self._rows[run_id]


class House:
    """The gateway under test, what stands behind it, and a plain HTTP client in front."""

    def __init__(
        self,
        settings: GatewayConfig,
        routes: list[web.RouteDef],
        webhooks: list[web.RouteDef],
        health: dict[str, ChannelHealth],
    ) -> None:
        self.threads = MemoryThreads()
        self.runs = ScriptedRuns(self.threads)
        self.gateway = Gateway(
            self.runs,
            self.threads,
            settings=settings,
            health=lambda: health,
            channel_routes=routes,
            webhook_routes=webhooks,
        )
        self.http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20))

    async def thread(self, thread_id: str = "t") -> str:
        await self.threads.create(thread_id, metadata={}, if_exists="do_nothing", user_id="default")
        return thread_id

    async def request(self, method: str, path: str, **options: Any) -> aiohttp.ClientResponse:
        url = URL(self.gateway.url + str(path), encoded=True)
        return await self.http.request(method, url, allow_redirects=False, **options)


StartHouse = Callable[..., Awaitable[House]]


@pytest.fixture
async def start_house() -> AsyncIterator[StartHouse]:
    """Starts a gateway with the settings given; all are stopped at the end."""
    async with AsyncExitStack() as stack:

        async def start(
            *,
            routes: list[web.RouteDef] | None = None,
            webhooks: list[web.RouteDef] | None = None,
            health: dict[str, ChannelHealth] | None = None,
            **settings: Any,
        ) -> House:
            house = House(GatewayConfig(**{"port": 0} | settings), routes or [], webhooks or [], health or {})
            stack.push_async_callback(house.http.close)
            await house.gateway.start()
            stack.push_async_callback(house.gateway.stop)
            return house

        yield start


@pytest.fixture
async def house(start_house: StartHouse) -> House:
    """A gateway as it comes: loopback, no token."""
    return await start_house()


@pytest.fixture(autouse=True)
def no_api_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK sends keys it finds in the environment."""
    for name in ("LANGGRAPH_API_KEY", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
