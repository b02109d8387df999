"""Messages changed after they were sent, through the real program and the real Telegram SDK."""

import pytest

from tests.e2e.house import House
from tests.e2e.program import Program
from tests.simulators.model.client import ModelSimulator
from tests.simulators.model.script import Gate, Text
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture
def program(house: House) -> Program:
    return house.program


@pytest.fixture
def telegram(house: House) -> TelegramSimulator:
    return house.telegram


@pytest.fixture
def model(house: House) -> ModelSimulator:
    return house.model


async def test_a_change_while_the_answer_is_written_gets_one_answer_to_the_new_text(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(Text("About cats: "), Gate("never"), match="tell me of cats")
    await model.script(Text("About dogs."), match="tell me of dogs")
    (sent,) = await ana.send("tell me of cats")
    await telegram.wait_for(ana.id, lambda view: view.drafts and "cats" in view.drafts[0].text, 20)
    await ana.edit(sent["message_id"], "tell me of dogs")
    chat = await telegram.wait_for(ana.id, lambda view: view.messages[-1].text == "About dogs.", 20)
    assert [message.text for message in chat.from_bot] == ["About dogs."]
    assert await telegram.violations() == []
    assert await model.violations() == []


async def test_a_change_of_what_waits_is_what_the_agent_is_told(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(Text("First "), Gate("first"), Text("done."), match="one please")
    await model.script(Text("A second."), match="two please")
    await ana.send("one please")
    await telegram.wait_for(ana.id, lambda view: view.drafts and "First" in view.drafts[0].text, 20)
    (sent,) = await ana.send("tow plaese")
    await telegram.wait_for(ana.id, lambda view: any("Waiting" in m.text for m in (*view.messages, *view.drafts)), 20)
    await ana.edit(sent["message_id"], "two please")
    await model.release("first")
    chat = await telegram.wait_for(ana.id, lambda view: view.messages[-1].text == "A second.", 20)
    assert [message.text for message in chat.from_bot] == ["First done.", "A second."]
    assert await telegram.violations() == []
    assert await model.violations() == []
