"""Answers stay where they were asked for."""

import asyncio

import pytest

from channels.contract import ActivityState, Addressed, Artifact, MessageEdited, MessageReceived, ToolActivity
from tests.channels.telegram.turns import MENTION, asked, final, made_channel, posted, texts, working
from tests.contracts.host import MemoryHost

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_answers_stay_in_their_topic(telegram, channel, host, ana) -> None:
    forum = await telegram.group(ana, forum=True)
    topic = await ana.create_topic("Plans", chat=forum)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=forum, topic=topic)
    assert turn.event.conversation.topic == str(topic)
    await turn.show(working("half"))
    await channel.show_activity(turn.target)
    await turn.show(final("whole"))
    (message,) = await posted(telegram, forum)
    assert (message.text, message.topic) == ("whole", topic)


async def test_the_general_topic_has_no_id(telegram, channel, host, ana) -> None:
    forum = await telegram.group(ana, forum=True)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=forum)
    assert turn.event.conversation.topic == ""
    await turn.show(final("whole"))
    assert await texts(telegram, forum) == ["whole"]


async def test_the_answer_to_a_topic_that_was_deleted_stands_in_the_chat_with_a_word(
    telegram, channel, host, ana, tmp_path
) -> None:
    forum = await telegram.group(ana, forum=True)
    topic = await ana.create_topic("Plans", chat=forum)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=forum, topic=topic)
    await turn.show(working("half"))
    await ana.delete_topic(topic, chat=forum)
    file = host.put_file("/mnt/user-data/outputs/a.txt", b"abc", "text/plain", tmp_path)
    await turn.show_at_last(final("whole", Artifact("/mnt/user-data/outputs/a.txt", file.name, "text/plain", 3)))
    word = "ℹ️ The topic in which this was asked is closed or gone, so the answer stands here."
    shown = [(message.text, message.topic) for message in await posted(telegram, forum)]
    assert shown == [(word, None), ("whole", None), ("", None)]
    turn.channel = made_channel(telegram)  # as after a restart
    await turn.channel.start(MemoryHost())
    await turn.show_at_last(final("whole and more"))
    assert await texts(telegram, forum) == [word, "whole and more", ""]
    await turn.channel.stop()
    await turn.channel.close()


async def test_a_closed_topic_is_treated_alike_and_loses_nothing(telegram, channel, host, ana) -> None:
    forum = await telegram.group(ana, forum=True)
    topic = await ana.create_topic("Plans", chat=forum)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=forum, topic=topic)
    await ana.close_topic(topic, chat=forum)
    await turn.show_at_last(final("long " * 1700))
    messages = await posted(telegram, forum)
    assert [message.topic for message in messages] == [None] * 4
    assert messages[0].text.startswith("ℹ️")
    assert "".join(message.text for message in messages[1:]).count("long") == 1700


async def test_a_private_topic_that_was_deleted_costs_no_draft_elsewhere(telegram, channel, host, ana) -> None:
    await telegram.set_bot(topics_in_private=True)
    topic = await ana.create_topic("Trip")
    turn = await asked(channel, host, ana, topic=topic)
    await ana.delete_topic(topic)
    for number in range(5):
        await turn.show(working(f"half {number}"))
        await asyncio.sleep(0.55)
    await turn.show_at_last(final("whole"))
    assert (await texts(telegram, ana.id))[-1] == "whole"
    other = await asked(channel, host, ana, "and here?")
    await other.show(working("growing"))
    assert (await telegram.chat(ana.id)).drafts[0].text == "growing"
    await telegram.set_bot(topics_in_private=False)


async def test_private_topics_are_conversations_of_their_own(telegram, channel, host, ana) -> None:
    await telegram.set_bot(topics_in_private=True)
    topic = await ana.create_topic("Trip")
    turn = await asked(channel, host, ana, topic=topic)
    assert turn.event.conversation.topic == str(topic)
    await turn.show(working("half"))
    assert (await telegram.chat(ana.id)).drafts[0].topic == topic
    await turn.show(final("whole"))
    assert [message.topic for message in await posted(telegram, ana.id)] == [topic]
    await telegram.set_bot(topics_in_private=False)


async def test_a_plain_supergroup_is_one_conversation_whatever_is_replied_to(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(final("answer"))
    (answer,) = await posted(telegram, group)
    reply = await asked(channel, host, ana, "and then?", chat=group, reply_to=answer.message_id)
    assert isinstance(reply.event, MessageReceived)
    assert (reply.event.addressed, reply.event.conversation) == (Addressed.REPLY, turn.event.conversation)
    assert reply.event.reply_to == str(answer.message_id)
    await reply.show(final("this"))
    assert await texts(telegram, group) == ["answer", "this"]


async def test_a_reply_to_a_message_that_is_gone_is_sent_without_it(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await ana.delete(turn.message_id, chat=group)
    await turn.show(final("still here"))
    assert await texts(telegram, group) == ["still here"]


async def test_an_edit_of_the_person_is_told(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana, "helo")
    await ana.edit(turn.message_id, "hello")
    edited = (await host.wait_for(2))[-1]
    assert isinstance(edited, MessageEdited)
    assert (edited.message_id, edited.text) == (str(turn.message_id), "hello")


async def test_sixteen_chats_at_once_all_get_their_answer(telegram, channel, host) -> None:
    people = [await telegram.person(f"P{number}") for number in range(16)]
    turns = [await asked(channel, host, person) for person in people]
    for turn in turns:
        await turn.show(working("half"))
    for turn in turns:
        await turn.show_at_last(final(f"answer for {turn.chat}"))
    for person in people:
        assert await texts(telegram, person.id) == [f"answer for {person.id}"]


async def test_in_a_group_nobody_is_called_by_what_the_agent_writes(telegram, channel, host, ana) -> None:
    """Symptom: an answer about `@dataclass` notified whoever has that name."""
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    step = ToolActivity("1", "search", ActivityState.RUNNING, "@types/node")
    await turn.show(working("**Ask @somebody_else**", step))
    await turn.show_at_last(final("**Ask @somebody_else** or [him](tg://user?id=42), me@example.org."))
    (message,) = await posted(telegram, group)
    assert [state.text for state in message.edits] == [
        "Ask @somebody_else\n\n⏳ search · @types/node",
        "Ask @somebody_else or him (tg://user?id=42), me@example.org.",
    ]
    assert [entity["type"] for entity in message.entities] == ["bold", "code", "email"]
