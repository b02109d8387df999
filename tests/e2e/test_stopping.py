"""SIGTERM in the middle of an answer: out within the drain time, and the answer is finished after the restart."""

import asyncio
import time

import pytest

from tests.e2e.program import Program
from tests.e2e.reading import answers
from tests.simulators.model.client import ModelSimulator
from tests.simulators.model.script import Gate, Text
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = pytest.mark.e2e

WHOLE = "The answer begins, and now it ends."
DRAIN_SECONDS = 5 + 5 / 4  # runs, then what they have still to deliver
ROOM_SECONDS = 8.0


async def test_an_answer_that_cannot_end_in_time_is_finished_in_the_message_that_was_begun(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    group = await telegram.group(ana)
    await model.script(Text("The answer begins, ", 20), Gate("never"), match="question")
    await model.script(Text(WHOLE, 20), match="question")
    await ana.send(f"@{telegram.bot_username} question", chat=group)
    begun = await telegram.wait_for(group, lambda view: view.last and "begins" in view.last.text, 30)
    asked = time.monotonic()
    assert await program.stop() == 0
    assert time.monotonic() - asked < DRAIN_SECONDS + ROOM_SECONDS
    await program.start()
    chat = await telegram.wait_for(group, lambda view: WHOLE in answers(view), 40)
    assert answers(chat) == [WHOLE]
    assert begun.last is not None
    assert chat.from_bot[0].message_id == begun.last.message_id
    assert "⏹ Stop" not in str(chat.from_bot[0].buttons)
    assert await telegram.violations() == []


async def test_an_answer_that_is_about_to_end_ends_once(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(Text(WHOLE, tokens_per_second=4), match="question", times=2)
    await ana.send("question")
    await telegram.wait_for(ana.id, lambda view: view.drafts and "begins" in view.drafts[0].text, 30)
    await ana.send("and this one waits")
    await asyncio.sleep(0.5)
    assert await program.stop() == 0
    await model.script(Text("It waited."), match="waits", times=2)
    await program.start()
    chat = await telegram.wait_for(ana.id, lambda view: "It waited." in answers(view), 40)
    assert answers(chat) == [WHOLE, "It waited."]
    assert await telegram.violations() == []
