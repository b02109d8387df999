"""A house that runs a scripted agent, and others beside it on the same database."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agent.config import AgentConfig
from bridge.persistence.database import Database
from tests.bridge.replica import Replica, open_replica
from tests.bridge.scripted import Says, Script, scripted

Start = Callable[..., AbstractAsyncContextManager[Replica]]


@pytest.fixture
async def play(
    database: Database, tmp_path: Path, database_url: str | None, request: pytest.FixtureRequest
) -> AsyncIterator[Callable[..., Any]]:
    """Gives a running replica whose agent says these things, and the script."""
    async with AsyncExitStack() as stack:

        async def start(*steps: Says, **settings: Any) -> tuple[Replica, Script]:
            config, script = scripted(request.node.name, *steps)
            replica = await stack.enter_async_context(
                open_replica(database, tmp_path, config, url=database_url, **settings)
            )
            return replica, script

        yield start


@pytest.fixture
def beside(database: Database, tmp_path: Path, database_url: str | None) -> Start:
    """Opens another replica on the same database and home."""

    def start(config: AgentConfig, **settings: Any) -> AbstractAsyncContextManager[Replica]:
        return open_replica(database, tmp_path, config, url=database_url, **settings)

    return start
