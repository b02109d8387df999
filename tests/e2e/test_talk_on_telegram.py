"""What a person can do on Telegram, through the real program and the real SDK."""

import asyncio
import time

import pytest

from tests.e2e.house import House
from tests.e2e.program import Program
from tests.e2e.reading import until
from tests.simulators.model.client import ModelSimulator
from tests.simulators.model.script import Gate, Text, ToolCall
from tests.simulators.telegram.client import Person, TelegramSimulator
from tests.simulators.telegram.views import ChatView, MessageView, Upload

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


def texts(view: ChatView) -> list[str]:
    return [message.text for message in view.messages]


def labels(message: MessageView) -> list[str]:
    return [button["text"] for button in message.buttons]


async def test_a_message_streams_and_ends_whole(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await ana.send("[bench id=one n=120 tps=60 ttft=0 tool=none] hello")
    growing = await telegram.wait_for(ana.id, lambda view: view.drafts and view.drafts[0].text, 20)
    assert "END" not in growing.drafts[0].text
    chat = await telegram.wait_for(ana.id, lambda view: any("END" in text for text in texts(view)), 20)
    assert chat.messages[-1].text.startswith("one ")
    assert len([text for text in texts(chat) if "one " in text and "END" in text and "[bench" not in text]) == 1
    asked = chat.messages[0]
    assert asked.reaction_of(telegram.bot_id) == "👀"
    assert await telegram.violations() == []


async def test_a_group_hears_an_answer_only_when_it_asks(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    group = await telegram.group(ana)
    await telegram.set_bot(privacy_mode=False)
    await ana.send("nobody asked the bot", chat=group)
    await model.script(Text("hello group"), match="are you there")
    await ana.send(f"@{telegram.bot_username} are you there", chat=group)
    chat = await telegram.wait_for(group, lambda view: "hello group" in texts(view), 20)
    assert len(chat.messages) == 3
    assert await telegram.violations() == []


async def test_a_choice_of_several_that_is_half_made_survives_a_restart(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(
        ToolCall("ask_clarification", {"question": "Which colours?", "options": ["red", "blue"], "multiple": True}),
        match="paint",
    )
    await model.script(Text("It is both now."), match="red, blue")
    await ana.send("paint the house")
    chat = await telegram.wait_for(ana.id, lambda view: view.messages[-1].buttons, 20)
    question = chat.messages[-1]
    assert "Which colours?" in question.text
    await ana.press_label(question.message_id, "☐ red")
    await telegram.wait_for(ana.id, lambda view: "☑ red" in labels(view.message(question.message_id)), 20)
    await program.stop()
    await program.start()
    await ana.press_label(question.message_id, "☐ blue")
    await telegram.wait_for(ana.id, lambda view: "☑ blue" in labels(view.message(question.message_id)), 20)
    press = await ana.press_label(question.message_id, "✔ Done")
    chat = await telegram.wait_for(ana.id, lambda view: "It is both now." in texts(view), 20)
    copy = chat.message(question.message_id)
    assert "red, blue" in copy.text
    assert not copy.buttons
    assert await telegram.press_answers(press)
    thumb = await ana.press_label(chat.messages[-1].message_id, "👍")
    told = await until(lambda: telegram.press_answers(thumb))
    assert told[0]["text"] == "Thank you, noted."
    await fill_in_a_form(ana, telegram, model)
    assert await telegram.violations() == []
    assert await model.violations() == []


async def fill_in_a_form(ana: Person, telegram: TelegramSimulator, model: ModelSimulator) -> None:
    """By words and by presses, back and on again; the model is told all of it, and what it took is known."""
    fields = [
        {"name": "city", "label": "City"},
        {"name": "size", "label": "Size", "options": ["small", "large"]},
        {"name": "extras", "label": "Extras", "options": ["tea", "milk"], "multiple": True, "required": False},
    ]
    await model.script(ToolCall("ask_clarification", {"question": "Your order?", "fields": fields}), match="order")
    await model.script(Text("Ordered."), match="Size: large")
    await ana.send("take my order")
    chat = await telegram.wait_for(ana.id, lambda view: "1 / 3  City" in view.messages[-1].text, 20)
    form = chat.messages[-1].message_id

    async def asks(words: str) -> None:
        await telegram.wait_for(ana.id, lambda view: words in view.message(form).text, 20)

    await ana.send("Oslo")
    await asks("2 / 3  Size")
    await ana.press_label(form, "small")
    await asks("3 / 3  Extras")
    await ana.press_label(form, "‹ Back")
    await asks("2 / 3  Size")
    await ana.press_label(form, "large")
    await asks("3 / 3  Extras")
    await ana.press_label(form, "✔ Done")
    chat = await telegram.wait_for(ana.id, lambda view: "Ordered." in texts(view), 20)
    chat = await telegram.wait_for(ana.id, lambda view: "✅" in view.message(form).text, 20)
    assert chat.message(form).text == "❓ Your order?\n\n✅ Ana:\nCity: Oslo\nSize: large"
    assert (await model.requests())[-1]["body"]["messages"][-1]["content"] == (
        "City: Oslo\nSize: large\nExtras: (no answer)"
    )
    await ana.send("/usage")
    await telegram.wait_for(ana.id, lambda view: "tokens in" in view.messages[-1].text, 20)


async def test_an_uploaded_table_is_read_by_the_agent_and_a_file_comes_back(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(ToolCall("read_file", {"path": "/mnt/user-data/uploads/sales.csv"}), match="summarise")
    await model.script(
        ToolCall("write_file", {"path": "/mnt/user-data/outputs/sum.txt", "content": "3 rows"}), match="summarise"
    )
    await model.script(ToolCall("present_files", {"filepaths": ["/mnt/user-data/outputs/sum.txt"]}), match="summarise")
    await model.script(Text("Three rows."), match="summarise")
    table = Upload("sales.csv", b"city,units\nOslo,3\nRome,5\nLima,8\n", mime_type="text/csv")
    await ana.send("summarise", files=[table])
    chat = await telegram.wait_for(
        ana.id,
        lambda view: any(m.file for m in view.messages[1:]) and any("Three rows." in m.text for m in view.messages),
        30,
    )
    sent = next(message.file for message in chat.messages[1:] if message.file)
    assert await telegram.file(sent["file_id"]) == b"3 rows"
    last_words = [str(request["body"]["messages"][-1]) for request in await model.requests()]
    assert sum("Oslo,3" in words for words in last_words) == 1
    assert await telegram.violations() == []
    assert await model.violations() == []


async def test_a_voice_message_where_nobody_transcribes_is_told_so_and_the_turn_goes_on(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(Text("I have the recording."), match="does not put recordings into writing")
    await ana.send(files=[Upload("voice.ogg", b"OggS", kind="voice", mime_type="audio/ogg")])
    chat = await telegram.wait_for(ana.id, lambda view: "I have the recording." in view.messages[-1].text, 20)
    assert "This bot does not put recordings into writing" in chat.messages[-1].text
    assert await telegram.violations() == []


async def test_stop_ends_a_run_within_a_second(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(Text("one two three four five "), Gate("never"), Text("six"), match="count")
    await ana.send("count")
    await telegram.wait_for(ana.id, lambda view: view.drafts and "five" in view.drafts[0].text, 20)
    asked = time.monotonic()
    await ana.send("/stop")
    chat = await telegram.wait_for(
        ana.id, lambda view: any("five" in text and "Stopped." in text for text in texts(view)), 20
    )
    assert time.monotonic() - asked < 5
    assert not any("six" in text for text in texts(chat))
    await model.script(Text("all well"), match="go on")
    await ana.send("go on")
    await telegram.wait_for(ana.id, lambda view: "all well" in texts(view), 20)
    assert await model.violations() == []


async def test_a_second_message_waits_and_is_answered_in_order(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(Text("first begun "), Gate("first"), Text("first done"), match="first")
    await model.script(Text("second done"), match="second")
    await ana.send("first")
    await model.gate_reached("first", 20)
    await ana.send("second")
    await telegram.wait_for(
        ana.id,
        lambda view: any("Waiting" in text for text in texts(view)) or any("Waiting" in d.text for d in view.drafts),
        20,
    )
    await model.release("first")
    chat = await telegram.wait_for(ana.id, lambda view: "second done" in texts(view), 20)
    answers = [text for text in texts(chat) if text in {"first begun first done", "second done"}]
    assert answers == ["first begun first done", "second done"]
    assert await telegram.violations() == []
    await asyncio.sleep(0)


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
    answers = ["First done.", "A second."]  # the waiting notice is taken back when the answer stands
    await telegram.wait_for(ana.id, lambda view: [message.text for message in view.from_bot] == answers, 20)
    assert await telegram.violations() == []
    assert await model.violations() == []
