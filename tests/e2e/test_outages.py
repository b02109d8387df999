"""Telegram or the model's provider is away: people and monitors learn why, and nothing is lost."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.e2e.house import House
from tests.e2e.reading import answers, until
from tests.simulators.model.script import Cut, Gate, HttpError, Stall, Step, Text

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

FAILING = HttpError(500)
RECOVERY_SECONDS = 20.0  # less than a question to Telegram waits


@pytest.fixture(scope="module")
def shared_database() -> None:
    """The SQLite file: what is proven here does not depend on the database."""


@pytest.fixture(scope="module")
def changed_settings() -> dict[str, Any]:
    return {"llm_call": {"retry_max_attempts": 3, "retry_base_delay_ms": 100, "retry_cap_delay_ms": 300}}


@pytest.fixture(scope="module")
def model_keys() -> dict[str, Any]:
    return {"stream_chunk_timeout": 2}


async def test_a_telegram_that_cannot_be_reached_is_named_and_everything_arrives_afterwards(house: House) -> None:
    ana, ben = await house.telegram.person("Ana"), await house.telegram.person("Ben")
    await house.model.script(Text("It begins, "), Gate("outage"), Text("and it ends."), match="before the outage")
    await house.model.script(Text("I heard you."), match="during the outage")
    await ana.send("before the outage")
    await house.model.gate_reached("outage", 30)
    await house.line.cut()
    await ben.send("during the outage")
    await _healthy(house, False)
    await house.model.release("outage")
    await asyncio.sleep(3)
    await house.line.restore()
    await _healthy(house, True)
    for person, text in ((ana, "It begins, and it ends."), (ben, "I heard you.")):
        chat = await house.telegram.wait_for(person.id, answers, 60)
        assert answers(chat) == [text]
    await house.assert_within_the_rules()


async def test_a_telegram_that_is_unwell_is_named_too(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text("Well again."), match="are you well")
    await house.telegram.fault("error", "getUpdates", status=502, count=4)
    await ana.send("are you well")
    await _healthy(house, False)
    await _healthy(house, True)
    chat = await house.telegram.wait_for(ana.id, answers, 30)
    assert answers(chat) == ["Well again."]
    await house.assert_within_the_rules()


async def _healthy(house: House, expected: bool) -> None:
    """Wait until `/health` says so, and names Telegram when it is unwell."""

    async def reported() -> str | None:
        status, report = await house.program.health()
        return str(report) if status == (200 if expected else 503) else None

    assert "telegram" in await until(reported, RECOVERY_SECONDS)


async def test_a_provider_that_recovers_in_time_is_not_noticed(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(FAILING, match="patience", times=2)
    await house.model.script(Text("Here I am."), match="patience")
    await ana.send("patience")
    chat = await house.telegram.wait_for(ana.id, answers, 30)
    assert answers(chat) == ["Here I am."]


@pytest.mark.parametrize(
    ("name", "steps", "times", "said", "why"),
    [
        ("failing", [FAILING], 3, "", "The model's provider has a problem."),
        (
            "cut",
            [Text("Half of ", 20), Cut()],
            1,
            "Half of",
            "The answer broke off in the middle. The model could not be reached.",
        ),
        (
            "stalled",
            [Text("Half of ", 20), Stall(30)],
            1,
            "Half of",
            "The answer broke off in the middle. The model took too long",
        ),
        ("silent", [Stall(30)], 3, "", "The model took too long to answer."),
    ],
)
async def test_a_provider_that_does_not_recover_is_told_of_in_a_line_and_the_next_turn_works(
    house: House, name: str, steps: Sequence[Step], times: int, said: str, why: str
) -> None:
    ana = await house.telegram.person()
    await house.model.script(*steps, match=f"{name} please", times=times)
    await house.model.script(Text("All is well."), match=f"{name} is over")
    await ana.send(f"{name} please")
    chat = await house.telegram.wait_for(ana.id, answers, 60)
    (told,) = answers(chat)
    assert told.startswith(said)
    assert why in told
    assert told.count("⚠️") == 1
    await ana.send(f"{name} is over")
    await house.telegram.wait_for(ana.id, lambda view: "All is well." in answers(view), 30)
    await house.assert_within_the_rules()
