"""The simulators under test, and the official clients that judge them."""

from collections.abc import AsyncIterator

import openai
import pytest
import telegram

from tests.simulators.model import ModelSimulator
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


@pytest.fixture
async def model() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator() as model:
        yield model


@pytest.fixture
async def client(model: ModelSimulator) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key=model.api_key, base_url=model.base_url, max_retries=0) as client:
        yield client
