"""The simulated Telegram, fresh for each test, and python-telegram-bot that judges it."""

from collections.abc import AsyncIterator

import pytest
import telegram

from tests.simulators.telegram import Person, TelegramSimulator


@pytest.fixture
async def simulator() -> AsyncIterator[TelegramSimulator]:
    async with TelegramSimulator() as simulator:
        yield simulator


@pytest.fixture
async def bot(simulator: TelegramSimulator) -> AsyncIterator[telegram.Bot]:
    async with client_of(simulator) as bot:
        yield bot


@pytest.fixture
async def ana(simulator: TelegramSimulator) -> Person:
    return await simulator.person("Ana")


def client_of(simulator: TelegramSimulator) -> telegram.Bot:
    return telegram.Bot(
        simulator.token, base_url=f"{simulator.base_url}/bot", base_file_url=f"{simulator.base_url}/file/bot"
    )
