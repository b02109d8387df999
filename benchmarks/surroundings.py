"""What a program is measured against: the simulated Telegram and the simulated model, new for each program."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.simulators.model.client import ModelSimulator
from tests.simulators.telegram.client import TelegramSimulator


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The simulators, and a folder for the program's files."""

    telegram: TelegramSimulator
    model: ModelSimulator
    folder: Path


@asynccontextmanager
async def surroundings(folder: Path, *, limits: bool = False) -> AsyncIterator[Surroundings]:
    """Both simulators in processes of their own; they end with the block. `limits`: Telegram keeps its rates."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    async with TelegramSimulator(limits=limits) as telegram, ModelSimulator() as model:
        yield Surroundings(telegram, model, folder)
