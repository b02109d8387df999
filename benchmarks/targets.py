"""The programs under measurement: the product with either model class, and the floors."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import yaml

from benchmarks.child import Child, ChildFailed
from benchmarks.surroundings import Surroundings

_READY_SECONDS = 120.0
_LOOK_EVERY_SECONDS = 0.02
STREAM_RETENTION_SECONDS = 4
"""Short, so that the forgetting of streams is part of what is measured."""
_PACE = 1_000
"""The simulated Telegram has no limits, and the floors keep none."""


@dataclass(frozen=True, slots=True)
class Running:
    """A started program, and how long it took from its start to being ready."""

    child: Child
    ready_seconds: float


class Target(Protocol):
    """A program that answers on Telegram."""

    @property
    def name(self) -> str:
        """What the tables call it."""

    async def start(self, around: Surroundings) -> Running:
        """Start it in its folder and wait until it is ready. Raises `ChildFailed`."""


@dataclass(frozen=True, slots=True)
class Product:
    """`threadbridge serve` with Telegram, and with the page where that is asked for."""

    name: str
    model_class: str
    page: bool = False
    times_usual_pace: float = _PACE

    async def start(self, around: Surroundings) -> Running:
        """Ready is when `/health` says 200."""
        config = around.folder / "config.yaml"
        config.write_text(yaml.safe_dump(self._settings(around)))
        log = around.folder / "product.log"
        log.unlink(missing_ok=True)
        command = [sys.executable, "-m", "bridge", "serve", "--config", str(config)]
        async with aiohttp.ClientSession() as session:
            return await _started(command, {}, log, lambda: _healthy(session, log))

    def _settings(self, around: Surroundings) -> dict[str, Any]:
        return {
            "home": str(home_of(around)),
            "gateway": {"port": 0},
            "models": [
                {
                    "name": "main", "use": self.model_class, "model": "fake",
                    "api_key": around.model.api_key, "base_url": around.model.base_url,
                },
            ],
            "channels": {
                "telegram": {
                    "enabled": True, "bot_token": around.telegram.token, "base_url": around.telegram.base_url,
                    "access": "open", "times_usual_pace": self.times_usual_pace,
                },
                "web": {"enabled": self.page},
            },
            "runs": {"stream_retention_seconds": STREAM_RETENTION_SECONDS},
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Floor:
    """`floor_bot.py` in one of its modes."""

    name: str
    mode: str

    async def start(self, around: Surroundings) -> Running:
        """Ready is when it asks Telegram for updates, its agent compiled."""
        home = home_of(around)
        home.mkdir(exist_ok=True)
        environment = {
            "FLOOR_MODE": self.mode,
            "FLOOR_DB": str(home / "floor.db"),
            "MODEL_BASE": around.model.base_url,
            "TELEGRAM_BASE": around.telegram.base_url,
        }
        calls = await around.telegram.calls()
        before = calls[-1]["number"] if calls else 0

        async def listens() -> bool:
            return bool(await around.telegram.calls("getUpdates", after=before))

        command = [sys.executable, "-m", "benchmarks.floor_bot"]
        return await _started(command, environment, around.folder / "floor.log", listens)


def home_of(around: Surroundings) -> Path:
    """The folder in which the program keeps its data."""
    return around.folder / "home"


async def _started(
    command: list[str], environment: dict[str, str], log: Path, is_ready: Callable[[], Awaitable[bool]]
) -> Running:
    began = time.monotonic()
    child = await Child.start(command, environment, log)
    try:
        while not await is_ready():
            child.check()
            if time.monotonic() - began > _READY_SECONDS:
                raise ChildFailed(f"the program was not ready in {_READY_SECONDS:.0f} s:\n{child.log()[-4000:]}")
            await asyncio.sleep(_LOOK_EVERY_SECONDS)
    except BaseException:
        await child.stop()
        raise
    return Running(child, time.monotonic() - began)


async def _healthy(session: aiohttp.ClientSession, log: Path) -> bool:
    url = _announced_url(log)
    if url is None:
        return False
    async with session.get(f"{url}/health") as reply:
        return reply.status == 200


def _announced_url(log: Path) -> str | None:
    lines = log.read_text(errors="replace").splitlines()
    return next((line.rpartition("ready: ")[2].strip() for line in lines if "ready: http" in line), None)


LANGCHAIN_FLOOR = Floor("LangChain floor", "langgraph")
BARE_FLOOR = Floor("bare floor", "bare")
SQLITE_FLOOR = Floor("LangChain floor", "sqlite")
OWN_MODEL = Product("product", "agent.models:ChatOpenAICompatible")
LANGCHAIN_MODEL = Product("product with ChatOpenAI", "langchain_openai:ChatOpenAI")
OWN_MODEL_AT_USUAL_PACE = Product("product", "agent.models:ChatOpenAICompatible", times_usual_pace=1)
OWN_MODEL_AND_PAGE = Product("product", "agent.models:ChatOpenAICompatible", page=True)
LANGCHAIN_MODEL_AND_PAGE = Product("product with ChatOpenAI", "langchain_openai:ChatOpenAI", page=True)
