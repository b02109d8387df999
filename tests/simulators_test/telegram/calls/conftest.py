"""One simulated Telegram without rate limits for each module of tests; every test has a person of its own."""

from collections.abc import AsyncIterator

import pytest_asyncio
import telegram

from tests.simulators.telegram import Person, TelegramSimulator

from ..conftest import client_of


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def simulator() -> AsyncIterator[TelegramSimulator]:
    async with TelegramSimulator(limits=False) as simulator:
        yield simulator


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bot(simulator: TelegramSimulator) -> AsyncIterator[telegram.Bot]:
    async with client_of(simulator) as bot:
        yield bot


@pytest_asyncio.fixture(loop_scope="module")
async def ana(simulator: TelegramSimulator) -> Person:
    return await simulator.person("Ana")
