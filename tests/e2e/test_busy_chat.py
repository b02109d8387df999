"""A person writes faster than anybody can answer."""

import asyncio
import re
from typing import Any

import pytest

from tests.e2e.house import House
from tests.e2e.reading import answers
from tests.simulators.model.script import Gate, Text

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

MOST_WAITING = 6


@pytest.fixture(scope="module")
def shared_database() -> None:
    """The SQLite file: what is proven here does not depend on the database."""


@pytest.fixture(scope="module")
def changed_settings() -> dict[str, Any]:
    return {"runs": {"max_waiting_per_conversation": MOST_WAITING}}


async def test_of_forty_messages_at_once_those_beyond_the_limit_are_refused_and_the_others_answered_in_order(
    house: House,
) -> None:
    ana = await house.telegram.person()
    await house.model.script(Gate("busy"), Text("number 0 answered"), match="message 0")
    for number in range(1, 40):
        await house.model.script(Text(f"number {number} answered"), match=f"message {number}.")
    await ana.send("message 0.")
    await house.model.gate_reached("busy", 30)
    for number in range(1, 40):
        await ana.send(f"message {number}.")
    refused = 39 - MOST_WAITING
    chat = await house.telegram.wait_for(ana.id, lambda view: _refusals(answers(view)) == refused, 90)
    await house.model.release("busy")
    chat = await house.telegram.wait_for(ana.id, lambda view: len(_answered(answers(view))) == MOST_WAITING + 1, 60)
    await asyncio.sleep(1)
    chat = await house.telegram.chat(ana.id)
    assert _answered(answers(chat)) == list(range(MOST_WAITING + 1))
    assert _refusals(answers(chat)) == refused
    assert not [text for text in answers(chat) if "Waiting" in text]
    await house.assert_within_the_rules()


def _refusals(texts: list[str]) -> int:
    return sum("Too many messages wait" in text for text in texts)


def _answered(texts: list[str]) -> list[int]:
    return [int(found[1]) for text in texts if (found := re.fullmatch(r"number (\d+) answered", text))]
