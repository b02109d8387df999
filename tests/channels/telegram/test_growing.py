"""Answers grow before they are done, and end whole."""

import asyncio

import pytest

from channels.contract import ActivityState, Notice, NoticeKind, RateLimited, ReplyPhase, ToolActivity
from tests.channels.telegram.turns import MENTION, asked, at, final, made_channel, posted, texts, working

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_in_private_a_draft_grows_and_the_answer_takes_its_place(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(at(ReplyPhase.WORKING))
    (draft,) = (await telegram.chat(ana.id)).drafts
    assert (draft.text, draft.can_stop) == ("…", True)
    await turn.show(working("The **answer**"))
    seen = await telegram.wait_for(ana.id, lambda chat: chat.drafts and chat.drafts[0].text == "The answer")
    assert seen.drafts[0].draft_id == draft.draft_id
    assert seen.from_bot == ()
    await turn.show(final("The **answer** is 42."))
    chat = await telegram.chat(ana.id)
    assert chat.drafts == ()
    (message,) = chat.from_bot
    assert message.text == "The answer is 42."
    assert [entity["type"] for entity in message.entities] == ["bold"]


async def test_the_draft_is_the_same_after_a_restart(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(working("half"))
    (before,) = (await telegram.chat(ana.id)).drafts
    await channel.stop()
    turn.channel = made_channel(telegram)
    await turn.channel.start(host)
    await asyncio.sleep(0.5)
    await turn.show(working("half and more"))
    (after,) = (await telegram.chat(ana.id)).drafts
    assert (after.draft_id, after.text) == (before.draft_id, "half and more")
    await turn.show(final("whole"))
    assert await texts(telegram, ana.id) == ["whole"]
    await turn.channel.stop()
    await turn.channel.close()


async def test_many_updates_become_few_drafts_and_the_newest_is_shown(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    for number in range(30):
        await turn.show(working(f"Word {number}"))
    await telegram.wait_for(ana.id, lambda chat: chat.drafts and chat.drafts[0].text == "Word 29")
    drafts = await telegram.calls("sendMessageDraft")
    assert len([call for call in drafts if int(call["parameters"]["chat_id"]) == ana.id]) == 2


async def test_no_draft_comes_after_the_answer(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(working("one"))
    await turn.show(working("one two"))
    await turn.show(final("one two three"))
    await asyncio.sleep(0.8)
    assert (await telegram.chat(ana.id)).drafts == ()
    assert await texts(telegram, ana.id) == ["one two three"]


async def test_in_a_group_one_message_is_posted_at_once_and_edited(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(at(ReplyPhase.WORKING))
    (message,) = await posted(telegram, group)
    assert message.reply_to == turn.message_id
    assert [button["text"] for button in message.buttons] == ["⏹ Stop"]
    await turn.show(final("Done."))
    (message,) = await posted(telegram, group)
    assert [state.text for state in message.edits] == ["…", "Done."]
    assert [button["text"] for button in message.buttons] == ["👍", "👎"]


async def test_a_preview_in_a_group_that_comes_too_soon_is_put_off_but_not_the_answer(
    telegram, channel, host, ana
) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show(working("one"))
    with pytest.raises(RateLimited) as caught:
        await turn.show(working("one two"))
    assert 1 < caught.value.retry_after_seconds <= 3
    await turn.show(final("one two three"))
    assert await texts(telegram, group) == ["one two three"]


async def test_one_failed_draft_says_nothing_but_several_lead_to_an_edited_message(
    telegram, channel, host, ana
) -> None:
    turn = await asked(channel, host, ana)
    await telegram.fault("error", "sendMessageDraft", status=400, count=1)
    await turn.show(working("one"))
    await asyncio.sleep(0.6)
    await turn.show(working("one two"))
    await telegram.wait_for(ana.id, lambda chat: chat.drafts and chat.drafts[0].text == "one two")
    await telegram.fault("error", "sendMessageDraft", status=400, count=3)
    for number in range(3):
        await asyncio.sleep(0.6)
        await turn.show(working(f"one two {number}"))
    await turn.show(working("in a message"))
    assert await texts(telegram, ana.id) == ["in a message"]
    await turn.show(final("done"))
    assert await texts(telegram, ana.id) == ["done"]


async def test_no_draft_is_sent_while_telegram_asks_for_silence_and_then_the_newest_with_its_stop_button(
    telegram, channel, host, ana
) -> None:
    turn = await asked(channel, host, ana)
    await telegram.fault("flood", "sendMessageDraft", retry_after=2)
    for number in range(8):
        await turn.show(working(f"Word {number}"))
        await channel.show_activity(turn.target)
        await asyncio.sleep(0.1)
    drafts = [call for call in await telegram.calls("sendMessageDraft") if int(call["parameters"]["chat_id"]) == ana.id]
    assert len(drafts) == 1
    chat = await telegram.wait_for(ana.id, lambda view: view.drafts)
    assert (chat.drafts[0].text, chat.drafts[0].can_stop) == ("Word 7", True)
    assert channel._drafts.takes_drafts(ana.id)
    await turn.show(final("Word 7."))
    assert await texts(telegram, ana.id) == ["Word 7."]


async def test_a_final_text_that_is_refused_for_its_rate_waits_the_ban_out_and_comes_whole(
    telegram, channel, host, ana
) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(working("half"))
    await telegram.fault("flood", "sendMessage", retry_after=2)
    for _ in range(3):
        with pytest.raises(RateLimited):
            await turn.show(final("half and whole"))
    calls = [call for call in await telegram.calls("sendMessage") if int(call["parameters"]["chat_id"]) == ana.id]
    assert len(calls) == 1
    await turn.show_at_last(final("half and whole"))
    assert await texts(telegram, ana.id) == ["half and whole"]


async def test_typing_that_is_refused_for_its_rate_is_not_asked_for_again_so_soon(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await telegram.fault("flood", "sendChatAction", retry_after=1)
    for _ in range(3):
        await channel.show_activity(turn.target)
    assert not (await telegram.chat(ana.id)).is_typing
    actions = [call for call in await telegram.calls("sendChatAction") if int(call["parameters"]["chat_id"]) == ana.id]
    assert len(actions) == 1
    await asyncio.sleep(1.1)
    await channel.show_activity(turn.target)
    assert (await telegram.chat(ana.id)).is_typing


async def test_drafts_that_are_refused_for_their_rate_do_not_hold_back_the_answer(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await telegram.fault("flood", "sendMessageDraft", retry_after=30)
    await turn.show(working("one"))
    await turn.show(working("one two"))
    await turn.show(final("one two three"))
    assert await texts(telegram, ana.id) == ["one two three"]


async def test_that_a_turn_waits_gives_way_to_its_answer(channel, telegram, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(at(ReplyPhase.QUEUED, Notice(NoticeKind.WAITING, "Waits behind 1.")))
    assert await texts(telegram, ana.id) == ["⏳ Waits behind 1."]
    await turn.show(final("whole"))
    assert await texts(telegram, ana.id) == ["whole"]


async def test_a_long_answer_is_posted_as_it_fills_and_ends_whole(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    blocks = [
        f"Line {number} of an answer that goes on and on.\n\n```python\nx_{number} = {number}\n```"
        for number in range(300)
    ]
    text = "\n\n".join(blocks)
    assert len(text) > 20_000
    await turn.show(working(text[:8000]))
    assert len(await posted(telegram, ana.id)) == 1
    await turn.show_at_last(final(text))
    messages = await posted(telegram, ana.id)
    shown = "\n".join(message.text for message in messages)
    assert shown.split() == text.replace("```python", "").replace("```", "").split()
    assert {entity["language"] for message in messages for entity in message.entities} == {"python"}


async def test_a_draft_lives_on_while_a_tool_runs_long(telegram, channel, host, ana, monkeypatch) -> None:
    monkeypatch.setattr("channels.telegram.drafts._REFRESH_SECONDS", 0.6)
    turn = await asked(channel, host, ana)
    await turn.show(working("Looking.", ToolActivity("1", "search", ActivityState.RUNNING)))
    await channel.show_activity(turn.target)
    assert (await telegram.chat(ana.id)).drafts[0].updates == 1
    await asyncio.sleep(0.7)
    await channel.show_activity(turn.target)
    chat = await telegram.chat(ana.id)
    assert chat.is_typing
    assert (chat.drafts[0].updates, chat.drafts[0].text) == (2, "Looking.\n\n⏳ search")


async def test_a_waiting_notice_goes_when_the_answer_begins(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(at(ReplyPhase.QUEUED, Notice(NoticeKind.WAITING, "Waits behind 1.")))
    assert await texts(telegram, ana.id) == ["⏳ Waits behind 1."]
    await turn.show(working("Now"))
    chat = await telegram.chat(ana.id)
    assert chat.from_bot == ()
    assert chat.drafts[0].text == "Now"
    assert turn.ledger.receipt.pieces == ()


async def test_a_text_that_shrinks_takes_its_surplus_messages_back(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show(final("word " * 1700))
    assert len(await posted(telegram, ana.id)) == 3
    await turn.show_at_last(final("short"))
    assert await texts(telegram, ana.id) == ["short"]
