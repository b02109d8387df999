"""A simulated Telegram for a module of tests, and a person, a house and an adapter for each."""

from collections.abc import AsyncIterator

import pytest_asyncio

from channels.telegram.adapter import TelegramChannel
from tests.channels.telegram.turns import made_channel
from tests.contracts.host import MemoryHost
from tests.simulators.telegram.client import Person, TelegramSimulator


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def telegram() -> AsyncIterator[TelegramSimulator]:
    async with TelegramSimulator() as simulator:
        yield simulator


@pytest_asyncio.fixture(loop_scope="module")
async def ana(telegram: TelegramSimulator) -> Person:
    return await telegram.person("Ana")


@pytest_asyncio.fixture(loop_scope="module")
async def host() -> MemoryHost:
    return MemoryHost()


@pytest_asyncio.fixture(loop_scope="module")
async def channel(telegram: TelegramSimulator, host: MemoryHost) -> AsyncIterator[TelegramChannel]:
    """A started adapter; the test must leave no violation of the platform's rules."""
    known = len(await telegram.violations())
    opened = made_channel(telegram)
    await opened.start(host)
    yield opened
    await opened.stop()
    await opened.close()
    await telegram.clear_faults()
    assert (await telegram.violations())[known:] == []
