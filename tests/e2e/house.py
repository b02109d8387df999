"""The program with both simulators around it, wired together."""

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.e2e.evidence import assert_clean, assert_untold
from tests.e2e.line import Line
from tests.e2e.program import Program
from tests.simulators.model.client import ModelSimulator
from tests.simulators.telegram.client import TelegramSimulator


@dataclass(frozen=True, slots=True)
class House:
    """A running program, and the hands on what it talks to."""

    program: Program
    telegram: TelegramSimulator
    model: ModelSimulator
    line: Line
    """From the program to Telegram."""

    async def assert_within_the_rules(self) -> None:
        """Neither platform nor provider had anything to complain about."""
        assert await self.telegram.violations() == []
        assert await self.model.violations() == []


def settings_for(telegram: TelegramSimulator, model: ModelSimulator, database_url: str | None) -> dict[str, Any]:
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


@asynccontextmanager
async def running(
    home: Path, settings: dict[str, Any], environment: dict[str, str] | None = None
) -> AsyncIterator[Program]:
    """The program from its start to its stop; then what it left behind is looked through."""
    program = Program(home, settings=settings, environment=environment)
    try:
        await program.start()
        yield program
        await program.stop()
    finally:
        await program.kill()
    assert_clean(program)


@asynccontextmanager
async def open_house(
    home: Path, database_url: str | None, changed: Mapping[str, Any], model_keys: Mapping[str, Any]
) -> AsyncIterator[House]:
    """Everything, for tests that share it. `changed` are sections that differ, `model_keys` go to the model's entry."""
    async with TelegramSimulator() as telegram, ModelSimulator() as model, Line(telegram.base_url) as line:
        settings = {**settings_for(telegram, model, database_url), **changed}
        settings["channels"]["telegram"]["base_url"] = line.url
        settings["models"][0].update(model_keys)
        async with running(home, settings) as program:
            yield House(program, telegram, model, line)
            assert_untold([await telegram.effects(), await model.requests()])


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """An empty database on that server, as the configuration names it."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield f"{server}/{name}".replace("postgresql://", "postgresql+psycopg://")
    finally:
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
