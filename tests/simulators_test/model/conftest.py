"""The simulated model, and the official client that judges it."""

from collections.abc import AsyncIterator

import openai
import pytest

from tests.simulators.model import ModelSimulator


@pytest.fixture
async def model() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator() as model:
        yield model


@pytest.fixture
async def client(model: ModelSimulator) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key=model.api_key, base_url=model.base_url, max_retries=0) as client:
        yield client
