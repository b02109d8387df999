"""Telegram asks for silence again and again, in every chat and of every method."""

import pytest

from tests.e2e.house import House
from tests.e2e.reading import answers
from tests.simulators.model.script import Text, ToolCall

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def shared_database() -> None:
    """The SQLite file: what is proven here does not depend on the database."""


async def test_a_storm_of_refusals_costs_no_answer_and_no_call_falls_into_the_silence(house: House) -> None:
    telegram = house.telegram
    people = [await telegram.person(f"Person {number}") for number in range(5)]
    group = await telegram.group(people[0])
    path = "/mnt/user-data/outputs/storm.txt"
    await house.model.script(ToolCall("write_file", {"path": path, "content": "rain"}), match="storm-0")
    await house.model.script(ToolCall("present_files", {"filepaths": [path]}), match="storm-0")
    for number in range(6):
        await house.model.script(Text(f"Weathered {number}, word by word to the end.", 5), match=f"storm-{number}")
    await telegram.fault("flood", "getUpdates", count=2, retry_after=2)
    for chat in [*(person.id for person in people), group]:
        for method, count in (("sendMessageDraft", 2), ("sendMessage", 2), ("editMessageText", 1), ("*", 3)):
            await telegram.fault("flood", method, chat_id=chat, count=count, retry_after=3)
    await telegram.fault("flood", "sendDocument", retry_after=4)
    for number, person in enumerate(people):
        await person.send(f"storm-{number}")
    await people[0].send(f"@{telegram.bot_username} storm-5", chat=group)
    for number, chat in enumerate([*(person.id for person in people), group]):
        whole = f"Weathered {number}, word by word to the end."
        view = await telegram.wait_for(chat, lambda view, whole=whole: whole in answers(view), 60)  # type: ignore[misc]
        assert [text for text in answers(view) if text] == [whole]
    await telegram.wait_for(people[0].id, lambda view: any(message.file for message in view.from_bot), 40)
    await telegram.clear_faults()
    await house.assert_within_the_rules()
