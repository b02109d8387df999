"""The same thing told twice, or done twice at once: one turn, and a word to whoever came too late."""

import asyncio

import pytest

from tests.e2e.house import House
from tests.e2e.reading import answers, until
from tests.simulators.model.script import Text, ToolCall
from tests.simulators.telegram.client import Person
from tests.simulators.telegram.views import MessageView

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def shared_database() -> None:
    """The SQLite file: what is proven here does not depend on the database."""


async def test_a_thousand_redelivered_updates_make_no_turn_of_their_own(house: House) -> None:
    people = [await house.telegram.person(f"Person {number}") for number in range(20)]
    sent = await asyncio.gather(*(ana.send(f"[bench id=d{n} n=6] hello") for n, ana in enumerate(people)))
    updates = [messages[0]["update_id"] for messages in sent]
    for _ in range(50):
        await asyncio.gather(*(house.telegram.redeliver(update) for update in updates))
    await asyncio.gather(*(house.telegram.wait_for(ana.id, answers, 60) for ana in people))
    await people[0].send("[bench id=last n=6] bye")
    await house.telegram.wait_for(people[0].id, lambda view: len(answers(view)) == 2, 30)
    for number, ana in enumerate(people):
        found = answers(await house.telegram.chat(ana.id))
        assert [text.split()[0] for text in found] == [f"d{number}", *(["last"] if number == 0 else [])]
    asked = await house.model.asked()
    assert {count for prompt, count in asked.items() if "[bench id=d" in prompt} == {1}
    await house.assert_within_the_rules()


async def test_two_people_press_at_once_and_one_more_time(house: House) -> None:
    ana, ben = await house.telegram.person("Ana"), await house.telegram.person("Ben")
    group = await house.telegram.group(ana, ben)
    question = await _asked(house, ana, group, "paint")
    await house.model.script(Text("It is blue now."), match="blue", times=3)
    red, blue = question.callback_data("red"), question.callback_data("blue")
    presses = await asyncio.gather(
        ben.press(question.message_id, red, chat=group),
        ana.press(question.message_id, blue, chat=group),
        ana.press(question.message_id, blue, chat=group),
    )
    chat = await house.telegram.wait_for(group, lambda view: "It is blue now." in answers(view), 30)
    assert answers(chat).count("It is blue now.") == 1
    told = [await _told(house, query) for query in presses]
    assert told[0] == "This question was put to somebody else."
    assert sorted(told[1:]) == ["This was answered already: blue", "blue"]
    assert sum(count for prompt, count in (await house.model.asked()).items() if "blue" in prompt) == 1
    await house.assert_within_the_rules()


async def test_a_press_on_a_question_of_a_thread_left_behind_is_answered_with_words(house: House) -> None:
    ana = await house.telegram.person()
    question = await _asked(house, ana, ana.id, "varnish")
    await ana.send("/new")
    await house.telegram.wait_for(ana.id, lambda view: len(answers(view)) == 2, 30)
    asked = await house.model.asked()
    chat = await house.telegram.wait_for(ana.id, lambda view: "withdrawn" in view.message(question.message_id).text, 30)
    assert not chat.message(question.message_id).buttons
    assert await house.model.asked() == asked
    await house.assert_within_the_rules()


async def test_a_press_while_a_file_is_under_way_does_not_send_the_file_again(house: House) -> None:
    ana = await house.telegram.person()
    path = "/mnt/user-data/outputs/sketch.txt"
    await house.model.script(ToolCall("write_file", {"path": path, "content": "a sketch"}), match="draw")
    await house.model.script(ToolCall("present_files", {"filepaths": [path]}), match="draw")
    await house.telegram.hold("upload", "sendDocument", chat_id=ana.id)
    question = await _asked(house, ana, ana.id, "draw")
    await house.telegram.gate_reached("upload", 30)
    await house.model.script(Text("Red it is."), match="red")
    await ana.press_label(question.message_id, "red")
    await asyncio.sleep(1.5)
    await house.telegram.release("upload")
    chat = await house.telegram.wait_for(ana.id, lambda view: "Red it is." in answers(view), 30)
    chat = await house.telegram.wait_for(ana.id, lambda view: "✅" in view.message(question.message_id).text, 30)
    assert sum(bool(message.file) for message in chat.from_bot) == 1
    assert not chat.message(question.message_id).buttons
    await house.assert_within_the_rules()


async def _asked(house: House, person: Person, chat: int, about: str) -> MessageView:
    """The question the agent puts, with its buttons."""
    call = ToolCall("ask_clarification", {"question": "Which colour?", "options": ["red", "blue"]})
    await house.model.script(call, match=about)
    await person.send(f"@{house.telegram.bot_username} {about}", chat=chat)
    view = await house.telegram.wait_for(
        chat, lambda view: any(m.buttons and "colour" in m.text for m in view.from_bot), 30
    )
    return next(message for message in view.from_bot if message.buttons and "colour" in message.text)


async def _told(house: House, query: str) -> str:
    """What the person was shown after the press."""
    shown = await until(lambda: house.telegram.press_answers(query))
    return str(shown[0]["text"])
