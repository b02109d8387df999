"""Every adapter's bench, by name; an adapter joins the suite with one line here."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.contracts.harness import ChannelHarness

HARNESSES = {
    "telegram": "tests.contracts.telegram:TelegramHarness",
    "web": "tests.contracts.web:WebHarness",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=sorted(HARNESSES))
async def platform(request: pytest.FixtureRequest) -> AsyncIterator[tuple[type[ChannelHarness], Any]]:
    """The platform, started once for all tests of a module, with the class of its harness."""
    harness_class = _harness(request.param)
    async with AsyncExitStack() as stack:
        yield harness_class, await stack.enter_async_context(harness_class.platform())


@pytest_asyncio.fixture(loop_scope="module")
async def harness(platform: tuple[type[ChannelHarness], Any], tmp_path: Path) -> AsyncIterator[ChannelHarness]:
    harness_class, running = platform
    opened = harness_class(running)
    await opened.open(tmp_path)
    yield opened
    await opened.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what a platform has no counterpart of, as its harness says."""
    left_out = [item for item in items if _is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _is_left_out(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    name = call.params.get("platform") if call else None
    return name in HARNESSES and getattr(item, "originalname", "") in _harness(name).has_no


def _harness(name: str) -> type[ChannelHarness]:
    module, _, class_name = HARNESSES[name].partition(":")
    harness: type[ChannelHarness] = getattr(import_module(module), class_name)
    return harness
