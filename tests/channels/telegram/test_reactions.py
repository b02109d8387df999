"""Thumbs as reactions: what is read of them, and whose answer they are found to be about."""

from typing import Any

import pytest
from telegram import Update

from channels.contract import ConversationKey, FeedbackGiven, Sender, ShownAnswer
from channels.telegram.reactions import Rating, reacted
from tests.channels.telegram.turns import MENTION, RUN, all_heard, asked, final, made_channel, posted

CUSTOM = {"type": "custom_emoji", "custom_emoji_id": "5"}
GROUP = {"id": -100, "type": "supergroup", "title": "Team"}


def emojis(shown: str) -> list[dict[str, str]]:
    return [{"type": "emoji", "emoji": emoji} for emoji in shown.split()]


def change(old: list[dict[str, str]], new: list[dict[str, str]], **fields: Any) -> Update:
    body = {
        "chat": GROUP, "message_id": 5, "date": 1_790_000_000, "old_reaction": old, "new_reaction": new,
        "user": {"id": 7, "is_bot": False, "first_name": "Ana"}, **fields,
    }  # fmt: skip
    return Update.de_json({"update_id": 900, "message_reaction": body}, None)


@pytest.mark.parametrize(
    ("old", "new", "rating"),
    [
        ("", "👍", 1),
        ("", "👎", -1),
        ("👍", "👎", -1),
        ("👍", "", 0),
        ("👍", "❤", 0),
        ("❤", "❤ 👍", 1),
        ("👍", "👍 👎", 0),
        ("", "❤", None),
        ("👍", "👍 ❤", None),
    ],
)
def test_what_stands_now_counts_where_a_thumb_came_or_went(old: str, new: str, rating: Rating | None) -> None:
    found = reacted(change(emojis(old), emojis(new)), 42)
    assert (found.rating if found else None) == rating


def test_a_reaction_names_chat_message_and_person() -> None:
    found = reacted(change([CUSTOM], [{"type": "paid"}, *emojis("👍")]), 42)
    assert found is not None
    assert (str(found.chat), found.message_id, found.dedupe_key) == ("telegram:42:-100:", "5", "900")
    assert found.sender == Sender("7", "Ana")


def test_an_anonymous_admin_reacts_as_the_group_and_bots_and_readers_of_channels_not_at_all() -> None:
    found = reacted(change([], emojis("👍"), user=None, actor_chat=GROUP), 42)
    assert found is not None
    assert found.sender == Sender("-100", "Team", is_anonymous=True)
    assert reacted(change([], emojis("👍"), user={"id": 8, "is_bot": True, "first_name": "B"}), 42) is None
    assert reacted(change([], emojis("👍"), chat={"id": -7, "type": "channel", "title": "News"}), 42) is None
    assert reacted(change([], emojis("👍"), user=None), 42) is None


@pytest.mark.asyncio(loop_scope="module")
async def test_a_thumb_on_an_answer_is_feedback_in_its_topic_and_one_elsewhere_is_nothing(
    telegram, channel, host, ana
) -> None:
    forum = await telegram.group(ana, forum=True, bot_status="administrator")
    topic = await ana.create_topic("Plans", chat=forum)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=forum, topic=topic)
    await turn.show(final("whole"))
    (answer,) = await posted(telegram, forum)
    chat = ConversationKey("telegram", str(telegram.bot_id), str(forum))
    host.answers[chat, str(answer.message_id)] = ShownAnswer(turn.event.conversation, RUN)
    await ana.react(turn.message_id, "👍", chat=forum)
    for shown in (("👍",), ("👍", "🎉"), ("👎",), ()):
        await ana.react(answer.message_id, *shown, chat=forum)
    await all_heard(host, ana)
    given = [event for event in host.events if isinstance(event, FeedbackGiven)]
    assert [(event.rating, event.sender.id) for event in given] == [(n, str(ana.id)) for n in (1, -1, 0)]
    assert {(event.conversation, event.run_id, event.toggles) for event in given} == {
        (turn.event.conversation, RUN, False)
    }


@pytest.mark.asyncio(loop_scope="module")
async def test_where_no_feedback_is_wanted_telegram_is_not_asked_for_reactions(telegram, host, ana) -> None:
    channel = made_channel(telegram, feedback=False)
    await channel.start(host)
    turn = await asked(channel, host, ana)
    await turn.show(final("whole"))
    (answer,) = await posted(telegram, ana.id)
    assert await ana.react(answer.message_id, "👍") is None
    await channel.stop()
    await channel.close()
