"""What people do with the bot from day to day, each of it once, through one start of the program and the real SDK."""

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.e2e.evidence import rows
from tests.e2e.house import House
from tests.e2e.reading import answers, until
from tests.simulators.model.script import Gate, Text, ToolCall
from tests.simulators.telegram.client import Person
from tests.simulators.telegram.views import ChatView

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def shared_database() -> None:
    """The SQLite file: what is proven here does not depend on the database."""


@pytest.fixture(scope="module")
def changed_settings() -> dict[str, Any]:
    return {"inbox": {"overheard_messages": 3, "debounce_seconds": 0}}


async def says(house: House, chat: int, *expected: str) -> ChatView:
    """The chat, once these and no other words of the bot stand in it."""
    return await house.telegram.wait_for(chat, lambda view: answers(view) == list(expected), 30)


async def ends_with(house: House, chat: int, words: str) -> ChatView:
    """The chat, once the bot's last message has these words."""
    return await house.telegram.wait_for(chat, lambda view: view.last and words in view.last.text, 30)


async def writes(house: House, chat: int, words: str) -> ChatView:
    """The chat, once these words are growing in it, as a draft or in a message."""

    def seen(view: ChatView) -> bool:
        return any(words in shown.text for shown in (*view.from_bot, *view.drafts))

    return await house.telegram.wait_for(chat, seen, 30)


async def prompt_about(house: House, words: str) -> str:
    """What the agent was told, in its one turn about this."""
    (prompt,) = [prompt for prompt in await house.model.asked() if words in prompt]
    return prompt


async def test_in_a_group_it_speaks_when_it_is_spoken_to_and_as_the_group_has_chosen(house: House) -> None:
    telegram, model = house.telegram, house.model
    ana, ben = await telegram.person("Ana"), await telegram.person("Ben")
    group = await telegram.group(ana, ben, bot_status="administrator")  # it can read everything
    await model.script(Text("I side with Ben."), match="who is right")
    await model.script(Text("Because of tea."), match="why")
    await model.script(Text("Good night."), match="nobody in particular")
    await ana.send("coffee is best", chat=group)
    await ben.send("tea is best", chat=group)
    await ana.send(f"@{telegram.bot_username} who is right?", chat=group)
    chat = await says(house, group, "I side with Ben.")
    told = await prompt_about(house, "who is right")
    assert "Ana: coffee is best" in told
    assert "Ben: tea is best" in told
    (verdict,) = chat.from_bot
    assert verdict.reply_to is not None

    await ben.send("why?", chat=group, reply_to=verdict.message_id)
    await says(house, group, "I side with Ben.", "Because of tea.")
    await ana.send("/speak always", chat=group)
    await ends_with(house, group, "whatever is written")
    await ben.send("good night, nobody in particular", chat=group)
    await ends_with(house, group, "Good night.")
    await ana.send("/speak never", chat=group)
    await ends_with(house, group, "not at all")
    before = len(answers(await telegram.chat(group)))
    await ana.send(f"@{telegram.bot_username} a word in vain", chat=group)
    await ana.send("/status", chat=group)
    chat = await ends_with(house, group, "nothing is running")
    assert len(answers(chat)) == before + 1
    assert not [prompt for prompt in await model.asked() if "in vain" in prompt]
    await house.assert_within_the_rules()


async def test_places_are_conversations_and_answers_stand_where_they_were_asked_for(house: House) -> None:
    telegram, model = house.telegram, house.model
    ana = await telegram.person()
    for number, place in enumerate(("in plans", "in general", "again in plans", "as admin")):
        await model.script(Text(f"answer {number}"), match=f"we are {place}")
    mention = f"@{telegram.bot_username}"
    forum = await telegram.group(ana, forum=True, bot_status="administrator")
    plans = await ana.create_topic("Plans", chat=forum)
    await ana.send(f"{mention} we are in plans", chat=forum, topic=plans)
    await says(house, forum, "answer 0")
    await ana.send(f"{mention} we are in general", chat=forum)
    await says(house, forum, "answer 0", "answer 1")
    await ana.send("we are again in plans", chat=forum, topic=plans)  # nobody has to mention it where it takes part
    await says(house, forum, "answer 0", "answer 1", "answer 2")
    await ana.send(f"{mention} we are as admin", chat=forum, anonymous=True)
    chat = await says(house, forum, "answer 0", "answer 1", "answer 2", "answer 3")
    assert [message.topic for message in chat.from_bot] == [plans, None, plans, None]
    sent = {str(request["prompt"]): str(request["body"]["messages"]) for request in await model.requests()}
    (in_general,) = [messages for prompt, messages in sent.items() if "we are in general" in prompt]
    (again,) = [messages for prompt, messages in sent.items() if "we are again in plans" in prompt]
    assert "answer 0" not in in_general
    assert "answer 0" in again

    await telegram.set_bot(topics_in_private=True)
    trip = await ana.create_topic("Trip")
    await model.script(Text("Off we go."), match="to the sea")
    await ana.send("to the sea", topic=trip)
    chat = await says(house, ana.id, "Off we go.")
    assert chat.from_bot[0].topic == trip
    await telegram.set_bot(topics_in_private=False)
    await house.assert_within_the_rules()


async def test_stop_has_many_ways_and_each_ends_its_own_answer(house: House) -> None:
    telegram, model = house.telegram, house.model
    ana = await telegram.person()
    stopped = [f"Chapter {number}\n\n⏹ Stopped." for number in range(4)]
    for number in range(4):
        await model.script(Text(f"Chapter {number} "), Gate("never"), match=f"chapter {number}")

    await ana.send("chapter 0")
    await writes(house, ana.id, "Chapter 0")
    await ana.stop()  # Telegram's own button on the draft
    await says(house, ana.id, stopped[0])

    await ana.send("chapter 1")
    await writes(house, ana.id, "Chapter 1")
    await ana.send("Stop!")  # a word alone
    await telegram.wait_for(ana.id, lambda view: stopped[1] in answers(view), 30)
    await model.script(Text("Stop what?"), match="Stop")
    await ana.send("Stop!")
    await ends_with(house, ana.id, "Stop what?")

    group = await telegram.group(ana)
    old = None
    for number in (2, 3):  # the button under a message, bound to its run
        await ana.send(f"@{telegram.bot_username} chapter {number}", chat=group)
        chat = await writes(house, group, f"Chapter {number}")
        button = chat.from_bot[-1].callback_data("⏹ Stop")
        if old is not None:
            await _press_from_before(house, ana, group, chat.from_bot[-1].message_id, old)
            assert "Stopped" not in answers(await telegram.chat(group))[-1]
        await ana.press(chat.from_bot[-1].message_id, button, chat=group)
        await telegram.wait_for(group, lambda view, n=number: answers(view)[-1] == stopped[n], 30)
        old = button
    await house.assert_within_the_rules()


async def _press_from_before(house: House, person: Person, group: int, message_id: int, data: str) -> None:
    """As on a screen that has not been redrawn: the press names a run that is over, and is told so."""
    query = f"late-{message_id}"
    await house.telegram.inject(
        callback_query={
            "id": query, "from": {"id": person.id, "is_bot": False, "first_name": "Ana"}, "chat_instance": "1",
            "data": data, "message": {
                "message_id": message_id, "date": 1_700_000_000, "text": "x",
                "chat": {"id": group, "type": "supergroup", "title": "Team"},
            },
        }
    )  # fmt: skip

    async def answered() -> bool:
        calls = await house.telegram.calls("answerCallbackQuery")
        return any(call["parameters"]["callback_query_id"] == query for call in calls)

    await until(answered)


async def test_what_a_message_does_that_comes_too_early_is_chosen_in_the_chat(house: House) -> None:
    telegram, model = house.telegram, house.model
    ana = await telegram.person()

    async def choose(policy: str, words: str) -> None:
        await ana.send(f"/busy {policy}")
        await ends_with(house, ana.id, words)

    await choose("steer", "told before its next step")
    await model.script(Text("I look."), Gate("look"), ToolCall("ls", {"path": "/mnt/user-data"}), match="look around")
    await model.script(Text("Under the bed, nothing."), match="under the bed")
    await ana.send("look around")
    await model.gate_reached("look", 30)
    await ana.send("and under the bed")
    await until(lambda: _has_reaction(telegram, ana, "and under the bed"))
    await model.release("look")
    chat = await ends_with(house, ana.id, "Under the bed, nothing.")
    assert "I look." in chat.from_bot[-1].text  # one answer

    await choose("interrupt", "stops and answers it now")
    await model.script(Text("A long way "), Gate("never"), match="the long way")
    await model.script(Text("Left, then right."), match="the short way")
    await ana.send("tell me the long way")
    await writes(house, ana.id, "A long way")
    await ana.send("no, the short way")
    chat = await ends_with(house, ana.id, "Left, then right.")
    assert answers(chat)[-2] == "A long way\n\n⏹ Stopped."

    await choose("collect", "answered together")
    await model.script(Gate("first"), Text("Bread noted."), match="bread")
    await model.script(Text("Both noted."), match="milk")
    await ana.send("bread")
    await model.gate_reached("first", 30)
    await ana.send("milk")
    await ana.send("honey")
    await until(lambda: _has_reaction(telegram, ana, "honey"))
    await model.release("first")
    chat = await ends_with(house, ana.id, "Both noted.")
    assert answers(chat)[-2] == "Bread noted."
    assert "honey" in await prompt_about(house, "milk")
    await house.assert_within_the_rules()


async def _has_reaction(telegram: Any, person: Person, text: str) -> bool:
    chat = await telegram.chat(person.id)
    return any(message.text == text and message.reaction_of(telegram.bot_id) for message in chat.messages)


COMMANDS = {
    "/help": "/stop", "/status": "No conversation yet", "/models": "main", "/model": "answers here",
    "/model nonsense": "No model is called", "/plan on": "plan: on from now on", "/settings": "thinking",
    "/stop": "Nothing is running.", "/busy": "What a message does", "/assistant": "lead_agent",
    "/memory": "no memory yet", "/skills": "no skills yet", "/goal": "no goals yet", "/speak": "whatever is written",
    "/bootstrap": "no set-up by conversation yet", "/usage": "Nothing has been answered",
}  # fmt: skip


async def test_every_command_is_answered_with_words(house: House) -> None:
    async def is_answered(command: str, words: str) -> None:
        person = await house.telegram.person()
        await person.send(command)
        await ends_with(house, person.id, words)

    await asyncio.gather(*(is_answered(command, words) for command, words in COMMANDS.items()))
    await house.assert_within_the_rules()


async def test_a_path_is_chat_streaming_can_be_off_and_a_new_conversation_knows_nothing(house: House) -> None:
    telegram, model = house.telegram, house.model
    ana = await telegram.person()
    await model.script(Text("An empty file."), match="/mnt/user-data/x")
    await ana.send("/mnt/user-data/x is what?")
    await says(house, ana.id, "An empty file.")
    await ana.send("/settings streaming off")
    await ends_with(house, ana.id, "streaming: off from now on")
    drafts = len(await telegram.calls("sendMessageDraft"))
    await ana.send("[bench id=whole n=60 tps=60] streaming is off")
    chat = await telegram.wait_for(ana.id, lambda view: answers(view)[-1].endswith("END"), 30)
    assert len(chat.from_bot[-1].edits) == 1
    assert len(await telegram.calls("sendMessageDraft")) == drafts

    await ana.send("/new")
    await telegram.wait_for(ana.id, lambda view: not answers(view)[-1].endswith("END"), 30)
    await model.script(Text("Who are you?"), match="do you remember")
    await ana.send("do you remember me?")
    await ends_with(house, ana.id, "Who are you?")
    assert "whole" not in str((await model.requests())[-1]["body"]["messages"][1:])
    await house.assert_within_the_rules()


async def test_a_thumb_as_a_reaction_is_feedback_as_long_as_it_stands(house: House) -> None:
    ana = await house.telegram.person()
    group = await house.telegram.group(ana, bot_status="administrator")
    await house.model.script(Text("Forty-two."), match="the answer")
    await ana.send(f"@{house.telegram.bot_username} what is the answer?", chat=group)
    chat = await says(house, group, "Forty-two.")

    async def holds(*expected: int) -> bool:
        found = await asyncio.to_thread(rows, house.program, "SELECT user_id, rating FROM feedback")
        return [rating for user, rating in found if user == f"telegram:{ana.id}"] == list(expected)

    for reactions, expected in ((("👍",), (1,)), (("❤", "👎"), (-1,)), ((), ())):
        await ana.react(chat.from_bot[0].message_id, *reactions, chat=group)
        await until(lambda held=expected: holds(*held))
    await house.assert_within_the_rules()


async def test_another_program_with_the_same_token_is_explained_until_it_is_gone(house: House) -> None:
    url = f"{house.telegram.base_url}/bot{house.telegram.token}/getUpdates?timeout=0"

    async def is_told_of() -> bool:
        async with aiohttp.ClientSession() as session, session.get(url):
            pass
        _, body = await house.program.health()
        return "another program polls" in body["channels"]["telegram"]["detail"]

    await until(is_told_of, 60)
    ana = await house.telegram.person()
    await ana.send("[bench id=alone n=6] hello")
    await ends_with(house, ana.id, "alone the")
    status, body = await house.program.health()
    assert (status, body["channels"]["telegram"]["detail"]) == (200, "")
    assert "another program polls Telegram with the same bot token" in house.program.log()
