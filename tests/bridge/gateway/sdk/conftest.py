"""The real bridge on SQLite, the official SDK in front of its gateway, and a scripted model at the end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from bridge.app import open_bridge
from bridge.config import load_config
from bridge.gateway.server import Gateway
from tests.simulators.model import ModelSimulator

PREFIXES = ("/api", "/api/langgraph")


@dataclass(frozen=True, slots=True)
class Program:
    """The gateway under test, and the model behind it."""

    gateway: Gateway
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
    """The program, configured by a file as people do it."""
    settings = {
        "home": str(home / "threadbridge"),
        "gateway": {"port": port, "keepalive_seconds": 0.2, "disconnect_grace_seconds": 0.5},
        "runs": {"drain_seconds": 1},
        "models": [
            {
                "name": "main",
                "model": "scripted",
                "api_key": model.api_key,
                "base_url": model.base_url,
                "max_retries": 0,
            }
        ],
    }
    source = home / "config.yaml"
    source.write_text(yaml.safe_dump(settings))
    async with open_bridge(load_config(source, {})) as bridge:
        yield Program(bridge.gateway, model)
