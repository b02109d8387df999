"""The simulators and the program, wired together."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import database_url, postgres_server, postgres_url
from tests.e2e.program import Program
from tests.simulators.model.client import ModelSimulator
from tests.simulators.telegram.client import TelegramSimulator

__all__ = ["database_url", "postgres_server", "postgres_url"]


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramSimulator]:
    async with TelegramSimulator() as simulator:
        yield simulator


@pytest.fixture
async def model() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator() as simulator:
        yield simulator


@pytest.fixture
def settings(telegram: TelegramSimulator, model: ModelSimulator, database_url: str | None) -> dict[str, Any]:
    """A configuration against the simulators, open to everybody, with short leases."""
    return {
        "database": {"url": database_url},
        "gateway": {"port": 0},
        "models": [
            {"name": "main", "model": "fake", "api_key": model.api_key, "base_url": model.base_url},
        ],
        "channels": {
            "telegram": {
                "enabled": True,
                "bot_token": telegram.token,
                "base_url": telegram.base_url,
                "access": "open",
            },
        },
        "runs": {"lease_seconds": 4, "heartbeat_seconds": 1, "drain_seconds": 5},
    }


@pytest.fixture
async def program(tmp_path: Path, settings: dict[str, Any]) -> AsyncIterator[Program]:
    program = Program(tmp_path / "home", settings=settings)
    await program.start()
    yield program
    await program.stop()
    log = program.log()
    assert "Blocking call" not in log, log
    assert "Traceback" not in log, log
