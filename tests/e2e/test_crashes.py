"""`kill -9` at each step of a message's way: nothing lost, nothing doubled, order kept, the answer whole."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.breakpoints import PLACES
from tests.e2e.house import running
from tests.e2e.program import Program
from tests.e2e.reading import MAY_BE_A_REPEAT, answers
from tests.simulators.model.client import ModelSimulator
from tests.simulators.model.script import Text, ToolCall
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = pytest.mark.e2e

ANSWER = "The report is written, and here it ends."
SENT_MEANWHILE = {"ended"}  # the answer may be on its way when the kill comes: Telegram has no way to look


@pytest.fixture
async def doomed(tmp_path: Path, settings: dict[str, Any], request: pytest.FixtureRequest) -> AsyncIterator[Program]:
    """A program that dies once at the place the test names."""
    async with running(tmp_path / "home", settings, {"KILL_AT": request.param}) as program:
        yield program


def _places() -> list[str]:
    return [place for place in PLACES if place != "question-stored"]


@pytest.mark.parametrize("doomed", _places(), indirect=True)
async def test_a_turn_survives_a_kill(
    doomed: Program, telegram: TelegramSimulator, model: ModelSimulator, request: pytest.FixtureRequest
) -> None:
    ana = await telegram.person()
    path = "/mnt/user-data/outputs/report.md"
    await model.script(ToolCall("write_file", {"path": path, "content": "# Report"}), match="report", times=1)
    await model.script(Text(ANSWER, tokens_per_second=12), match="report", times=5)
    await model.script(Text("And the second."), match="second", times=5)
    await ana.send("write a report")
    assert await doomed.died() == -9
    await ana.send("second")
    await doomed.start()
    chat = await telegram.wait_for(ana.id, lambda view: "And the second." in answers(view), 40)
    assert [text for text in answers(chat) if text.startswith("And")] == ["And the second."]
    whole = [text for text in answers(chat) if ANSWER in text]
    if request.node.callspec.params["doomed"] in SENT_MEANWHILE and len(whole) == 2:
        assert MAY_BE_A_REPEAT in whole.pop()
    assert len(whole) == 1, answers(chat)
    assert answers(chat).index(whole[0]) < answers(chat).index("And the second.")
    assert await telegram.violations() == []
    assert await model.violations() == []


@pytest.mark.parametrize("doomed", ["question-stored"], indirect=True)
async def test_a_question_survives_a_kill(doomed: Program, telegram: TelegramSimulator, model: ModelSimulator) -> None:
    ana = await telegram.person()
    question = ToolCall("ask_clarification", {"question": "Which colour?", "options": ["red", "blue"]})
    await model.script(question, match="paint", times=5)
    await model.script(Text("It is blue now."), match="blue", times=5)
    await ana.send("paint the house")
    assert await doomed.died() == -9
    await doomed.start()
    chat = await telegram.wait_for(ana.id, lambda view: view.messages[-1].buttons, 40)
    asked = [message for message in chat.messages if "Which colour?" in message.text]
    assert len(asked) == 1
    await ana.press_label(asked[0].message_id, "blue")
    await telegram.wait_for(ana.id, lambda view: "It is blue now." in answers(view), 40)
    await asyncio.sleep(0.5)
    assert await telegram.violations() == []
    assert await model.violations() == []
