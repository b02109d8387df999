"""A question that nobody answers says so when its time is over, also when the program was away then."""

from typing import Any

import pytest

from tests.e2e.house import House
from tests.e2e.reading import answers
from tests.simulators.model.script import Text, ToolCall

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def shared_database() -> None:
    """The SQLite file: what is proven here does not depend on the database."""


@pytest.fixture(scope="module")
def changed_settings() -> dict[str, Any]:
    return {"runs": {"lease_seconds": 4, "heartbeat_seconds": 1, "question_expiry_seconds": 5}}


async def test_an_expired_question_says_so_once_and_takes_nothing_more(house: House) -> None:
    ana = await house.telegram.person()
    fields = [{"name": "city", "label": "City"}, {"name": "size", "label": "Size", "options": ["small", "large"]}]
    await house.model.script(ToolCall("ask_clarification", {"question": "Where to?", "fields": fields}), match="trip")
    await house.model.script(Text("Never mind then."), match="never mind")
    await ana.send("plan a trip")
    chat = await house.telegram.wait_for(ana.id, lambda view: "1 / 2  City" in "".join(answers(view)), 30)
    question = chat.from_bot[-1].message_id
    await house.program.stop()
    await house.program.start()
    chat = await house.telegram.wait_for(
        ana.id, lambda view: "This question has expired." in view.message(question).text, 30
    )
    assert chat.message(question).buttons == ()
    await ana.send("never mind")
    chat = await house.telegram.wait_for(ana.id, lambda view: "Never mind then." in answers(view), 30)
    assert [state.text for state in chat.message(question).edits if "expired" in state.text] == [
        "❓ Where to?\n\n⌛ This question has expired."
    ]
    await house.assert_within_the_rules()
