"""The simulators and the program, wired together: for each test anew, or shared by the tests of a module."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.databases import database_url, postgres_server, postgres_url
from tests.e2e.house import House, fresh_database, open_house, running, settings_for
from tests.e2e.program import Program
from tests.simulators.model.client import ModelSimulator
from tests.simulators.telegram.client import TelegramSimulator

__all__ = ["database_url", "postgres_server", "postgres_url"]


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramSimulator]:
    async with TelegramSimulator() as simulator:
        yield simulator


@pytest.fixture
async def model() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator() as simulator:
        yield simulator


@pytest.fixture
def settings(telegram: TelegramSimulator, model: ModelSimulator, database_url: str | None) -> dict[str, Any]:
    return settings_for(telegram, model, database_url)


@pytest.fixture
async def program(tmp_path: Path, settings: dict[str, Any]) -> AsyncIterator[Program]:
    async with running(tmp_path / "home", settings) as program:
        yield program


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def shared_database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The database of the module's `house`: its tests run once on either."""
    if request.param == "sqlite":
        yield None
        return
    with fresh_database(request.getfixturevalue("postgres_server")) as url:
        yield url


@pytest.fixture(scope="module")
def changed_settings() -> dict[str, Any]:
    """Sections of the configuration in which the module's `house` differs; overridden where it does."""
    return {}


@pytest.fixture(scope="module")
def model_keys() -> dict[str, Any]:
    """Keys for the model of the module's `house`; overridden where it needs any."""
    return {}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(
    tmp_path_factory: pytest.TempPathFactory,
    shared_database: str | None,
    changed_settings: dict[str, Any],
    model_keys: dict[str, Any],
) -> AsyncIterator[House]:
    """One start of everything for all tests of a module; each takes people of its own."""
    home = tmp_path_factory.mktemp("house") / "home"
    async with open_house(home, shared_database, changed_settings, model_keys) as house:
        yield house
