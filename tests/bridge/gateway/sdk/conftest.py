"""The real house on SQLite behind a started gateway, the official SDK in front, and a scripted model at the end."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from agent import AgentConfig, AgentRuntime
from agent.models import ModelConfig
from bridge.clock import utc_now
from bridge.files.artifacts import Artifacts
from bridge.files.config import UploadsConfig
from bridge.files.uploads import Uploads
from bridge.gateway.config import GatewayConfig
from bridge.gateway.server import Gateway
from bridge.persistence.database import SqliteDatabase
from bridge.persistence.schema import bootstrap_schema
from bridge.runs.config import RunsConfig
from bridge.runs.executor import Executor, RunResources
from bridge.runs.manager import RunManager
from bridge.runs.queue import EmbeddedRunQueue
from bridge.runs.stream import StreamHub
from bridge.runs.turn_input import TurnInput
from bridge.signals import Signals
from bridge.threads import ThreadService
from tests.simulators.model import ModelSimulator

PREFIXES = ("/api", "/api/langgraph")


@dataclass(frozen=True, slots=True)
class Program:
    """What is under test, and the model it asks."""

    gateway: Gateway
    database: SqliteDatabase
    model: ModelSimulator

    def client(self, prefix: str = "/api", **options: Any) -> LangGraphClient:
        return get_client(url=self.gateway.url + prefix, **options)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def program(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Program]:
    """One program for the tests of a module, each on threads of its own."""
    async with ModelSimulator() as model, running(tmp_path_factory.mktemp("home"), model) as program:
        yield program


@pytest_asyncio.fixture(loop_scope="module")
async def model(program: Program) -> AsyncIterator[ModelSimulator]:
    """The scripted model; a test's scripts end with the test."""
    yield program.model
    await program.model.clear_scripts()


@pytest_asyncio.fixture(loop_scope="module", params=PREFIXES)
async def client(program: Program, request: pytest.FixtureRequest) -> AsyncIterator[LangGraphClient]:
    """The SDK's client; every test runs under both prefixes."""
    async with program.client(request.param) as client:
        yield client


@asynccontextmanager
async def running(home: Path, model: ModelSimulator, port: int = 0) -> AsyncIterator[Program]:
    """The parts of the house that runs need, started in order and stopped in reverse."""
    entry = ModelConfig(name="main", model="scripted", api_key=model.api_key, base_url=model.base_url, max_retries=0)
    async with AsyncExitStack() as stack:
        agent = await stack.enter_async_context(
            AgentRuntime.open(AgentConfig(models=[entry]), home=home, database_url=None)
        )
        database = SqliteDatabase(home / "threadbridge.db")
        stack.push_async_callback(database.close)
        await bootstrap_schema(database.engine, backend=database.backend)
        signals, config = Signals(), RunsConfig(drain_seconds=1)
        hub = StreamHub(database, signals)
        hub.start()
        stack.push_async_callback(hub.stop)
        uploads = TurnInput(Uploads(agent.paths, UploadsConfig()), {})
        resources = RunResources(agent, database, hub, signals, uploads, Artifacts(agent.paths), config, utc_now)
        queue = EmbeddedRunQueue(database, Executor(resources), signals, config, "test", utc_now)
        await queue.start()
        stack.push_async_callback(queue.stop)
        manager = RunManager(database, agent, queue, hub, signals, utc_now)
        settings = GatewayConfig(port=port, keepalive_seconds=0.2, disconnect_grace_seconds=0.5)
        gateway = Gateway(manager, ThreadService(database, agent, utc_now), settings=settings, health=dict)
        await gateway.start()
        stack.push_async_callback(gateway.stop)
        yield Program(gateway, database, model)
