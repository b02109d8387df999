"""A send whose outcome nobody learnt: the full text stands at least once, and what may be a repeat says so."""

import pytest

from tests.e2e.house import House
from tests.e2e.program import Program
from tests.e2e.reading import MAY_BE_A_REPEAT, answers
from tests.simulators.model.client import ModelSimulator
from tests.simulators.model.script import Text, ToolCall
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

ANSWER = "The whole of the answer, from here to there."


@pytest.mark.asyncio(loop_scope="function")
async def test_a_kill_between_a_send_and_its_receipt(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(Text(ANSWER), match="question", times=3)
    await telegram.hold("sent", "sendMessage", when="after", contains=ANSWER)
    await ana.send("question")
    await telegram.gate_reached("sent", 30)
    await program.kill()
    await telegram.release("sent")
    await program.start()
    chat = await telegram.wait_for(ana.id, lambda view: len(answers(view)) == 2, 40)
    first, second = answers(chat)
    assert first == ANSWER
    assert second.endswith(ANSWER)
    assert MAY_BE_A_REPEAT in second
    assert await telegram.violations() == []
    assert (await model.asked()) == {"question": 1}


async def test_a_lost_reply_to_a_message(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text(ANSWER), match="question")
    await house.telegram.fault("lose_reply", "sendMessage", chat_id=ana.id, contains=ANSWER)
    await ana.send("question")
    chat = await house.telegram.wait_for(ana.id, lambda view: len(answers(view)) == 2, 30)
    first, second = answers(chat)
    assert first == ANSWER
    assert second.endswith(ANSWER)
    assert MAY_BE_A_REPEAT in second
    await house.assert_within_the_rules()


async def test_a_lost_reply_to_an_edit_is_repeated_unseen(house: House) -> None:
    ana = await house.telegram.person()
    group = await house.telegram.group(ana)
    await house.model.script(Text(ANSWER, tokens_per_second=2), match="question")
    await house.telegram.fault("lose_reply", "editMessageText", chat_id=group, contains=ANSWER, count=2)
    await ana.send(f"@{house.telegram.bot_username} question", chat=group)
    chat = await house.telegram.wait_for(group, lambda view: ANSWER in answers(view), 30)
    assert answers(chat) == [ANSWER]
    assert "⏹ Stop" not in str(chat.from_bot[0].buttons)
    await house.assert_within_the_rules()


async def test_a_lost_reply_to_a_file(house: House) -> None:
    ana = await house.telegram.person()
    path = "/mnt/user-data/outputs/report.txt"
    await house.model.script(ToolCall("write_file", {"path": path, "content": "all of it"}), match="report")
    await house.model.script(ToolCall("present_files", {"filepaths": [path]}), match="report")
    await house.model.script(Text("Here it is."), match="report")
    await house.telegram.fault("lose_reply", "sendDocument", chat_id=ana.id)
    await ana.send("report")
    chat = await house.telegram.wait_for(ana.id, lambda view: sum(bool(m.file) for m in view.from_bot) == 2, 30)
    files = [message for message in chat.from_bot if message.file]
    assert [await house.telegram.file(message.file["file_id"]) for message in files if message.file] == [
        b"all of it"
    ] * 2
    assert [MAY_BE_A_REPEAT in message.text for message in files] == [False, True]
    await house.assert_within_the_rules()


async def test_a_platform_that_fails_for_a_while_gets_the_answer_in_the_end(house: House) -> None:
    ana = await house.telegram.person()
    await house.model.script(Text(ANSWER), match="question")
    await house.telegram.fault("error", "sendMessage", chat_id=ana.id, status=502, count=10)
    await ana.send("question")
    chat = await house.telegram.wait_for(ana.id, lambda view: any(ANSWER in text for text in answers(view)), 60)
    assert len(answers(chat)) == 1
    await house.assert_within_the_rules()
