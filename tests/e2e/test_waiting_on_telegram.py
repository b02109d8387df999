"""What waits can be sent now or dropped, and what was said during an outage is asked about first."""

import asyncio
from typing import Any

import pytest

from tests.e2e.house import House
from tests.e2e.reading import answers
from tests.simulators.model.script import Gate, Text
from tests.simulators.telegram.client import Person
from tests.simulators.telegram.views import ChatView

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

ASK_WHEN_OLDER_SECONDS = 4


@pytest.fixture(scope="module")
def shared_database() -> None:
    """The SQLite file: what is proven here does not depend on the database."""


@pytest.fixture(scope="module")
def changed_settings() -> dict[str, Any]:
    return {"inbox": {"ask_when_older_than_seconds": ASK_WHEN_OLDER_SECONDS}}


async def press(house: House, person: Person, words: str, label: str) -> str:
    """Press that button under the message with these words, once it is there; what the person is told."""

    def carrier(view: ChatView) -> int | None:
        found = [
            message.message_id
            for message in view.from_bot
            if words in message.text and any(button["text"] == label for button in message.buttons)
        ]
        return found[-1] if found else None

    chat = await house.telegram.wait_for(person.id, carrier, 30)
    message_id = carrier(chat)
    assert message_id is not None
    query = await person.press_label(message_id, label)
    async with asyncio.timeout(20):
        while not (told := await house.telegram.press_answers(query)):  # noqa: ASYNC110  # nobody announces it
            await asyncio.sleep(0.05)
    return str(told[-1].get("text", ""))


async def test_a_message_that_waits_is_sent_now_and_passes_the_other(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text("A long story "), Gate("never"), match="tell a story")
    await house.model.script(Text("It is noon."), match="what time is it")
    await house.model.script(Text("A cat."), match="draw a cat")
    await ana.send("tell a story")
    await house.telegram.wait_for(ana.id, lambda view: view.drafts, 20)
    await ana.send("draw a cat")
    await house.telegram.wait_for(
        ana.id, lambda view: any("one message is answered first" in a for a in answers(view)), 20
    )
    await ana.send("what time is it")

    assert await press(house, ana, "2 messages are answered first", "▶️ Send now") == "This is answered next."
    in_order = ["A long story\n\n⏹ Stopped.", "It is noon.", "A cat."]
    await house.telegram.wait_for(ana.id, lambda view: answers(view) == in_order, 20)
    await house.assert_within_the_rules()


async def test_a_message_that_waits_is_dropped(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text("Working "), Gate("dropped"), Text("done."), match="first of two")
    await ana.send("first of two")
    await house.telegram.wait_for(ana.id, lambda view: view.drafts, 20)
    await ana.send("second of two")
    assert await press(house, ana, "one message is answered first", "✖️ Drop") == "Stopped."
    await house.model.release("dropped")
    ended = {"Working done.", "⏹ Dropped: this was not answered."}
    await house.telegram.wait_for(ana.id, lambda view: set(answers(view)) == ended, 20)
    await house.assert_within_the_rules()


async def test_what_was_said_during_an_outage_is_answered_only_when_the_person_says_so(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text("Both removed."), match="the other")
    await house.line.cut()
    await ana.send("remove the old one")
    await ana.send("and the other")
    await asyncio.sleep(ASK_WHEN_OLDER_SECONDS + 2)
    await house.line.restore()

    assert await press(house, ana, "You wrote these 2 messages", "▶️ Send now") == "This is answered next."

    await house.telegram.wait_for(ana.id, lambda view: answers(view) == ["Both removed."], 20)
    (prompt,) = {text for text in await house.model.asked() if "remove the old one" in text}
    assert "and the other" in prompt
    await house.assert_within_the_rules()
