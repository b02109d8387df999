"""Every adapter's bench, by name; an adapter joins the suite with one line here."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.contracts.harness import ChannelHarness, NotOnThisPlatform

HARNESSES = {
    "telegram": "tests.contracts.telegram:TelegramHarness",
    "web": "tests.contracts.web:WebHarness",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=sorted(HARNESSES))
async def platform(request: pytest.FixtureRequest) -> AsyncIterator[tuple[type[ChannelHarness], Any]]:
    """The platform, started once for all tests of a module, with the class of its harness."""
    module, _, name = HARNESSES[request.param].partition(":")
    harness_class: type[ChannelHarness] = getattr(import_module(module), name)
    async with AsyncExitStack() as stack:
        yield harness_class, await stack.enter_async_context(harness_class.platform())


@pytest_asyncio.fixture(loop_scope="module")
async def harness(platform: tuple[type[ChannelHarness], Any], tmp_path: Path) -> AsyncIterator[ChannelHarness]:
    harness_class, running = platform
    opened = harness_class(running)
    await opened.open(tmp_path)
    yield opened
    await opened.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip what the platform has not."""
    try:
        return (yield)
    except NotOnThisPlatform as reason:
        pytest.skip(str(reason))
