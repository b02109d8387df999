"""Drafts and typing fade, give way to real messages, and can be stopped by the person."""

import asyncio

import pytest
import telegram
from telegram.error import BadRequest

from tests.simulators.telegram import ControlFailed, Person, TelegramSimulator

from .conftest import client_of


async def test_a_draft_grows_and_gives_way_to_the_message(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    await bot.send_message_draft(ana.id, 7, "")
    await bot.send_message_draft(ana.id, 7, "*He*", parse_mode="MarkdownV2")
    (draft,) = (await simulator.chat(ana.id)).drafts
    assert (draft.draft_id, draft.text, draft.updates) == (7, "He", 2)
    await bot.send_message(ana.id, "Hello")
    assert (await simulator.chat(ana.id)).drafts == ()


async def test_a_draft_and_typing_fade():
    async with TelegramSimulator(time_scale=60) as simulator, client_of(simulator) as bot:
        ana = await simulator.person()
        await bot.send_message_draft(ana.id, 7, "He")
        await bot.send_chat_action(ana.id, "typing")
        view = await simulator.chat(ana.id)
        assert view.is_typing
        assert len(view.drafts) == 1
        await simulator.wait_for(ana.id, lambda chat: not chat.is_typing and not chat.drafts, 3)


async def test_drafts_are_for_private_chats(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    group = await simulator.group(ana)
    with pytest.raises(BadRequest, match="private chats"):
        await bot.send_message_draft(group, 7, "He")
    with pytest.raises(BadRequest, match="non-zero"):
        await bot.send_message_draft(ana.id, 0, "He")
    assert len(await simulator.violations()) == 2


async def test_the_stop_button_of_a_draft_tells_the_bot(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    kinds = [*telegram.Update.ALL_TYPES, "stopped_message_generation"]
    await bot.get_updates(timeout=0, allowed_updates=kinds)
    await bot.send_message_draft(ana.id, 7, "He")
    with pytest.raises(ControlFailed, match="no draft with a stop button"):
        await ana.stop()
    await bot.send_message_draft(ana.id, 7, "Hel", api_kwargs={"can_stop": True})
    await ana.stop()
    (update,) = await bot.get_updates(timeout=2)
    stopped = update.api_kwargs["stopped_message_generation"]
    assert (stopped["chat"]["id"], stopped["draft_id"]) == (ana.id, 7)
    assert (await simulator.chat(ana.id)).drafts == ()


async def test_a_draft_may_be_kept_when_stopped(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    await bot.send_message_draft(ana.id, 7, "Hel", api_kwargs={"can_stop": True, "keep_on_stop": True})
    await ana.stop()
    assert (await simulator.chat(ana.id)).drafts[0].stopped
    await asyncio.sleep(0)


async def test_a_press_is_answered_within_fifteen_seconds():
    async with TelegramSimulator(time_scale=60) as simulator, client_of(simulator) as bot:
        ana = await simulator.person()
        markup = telegram.InlineKeyboardMarkup.from_button(telegram.InlineKeyboardButton("Go", callback_data="go"))
        sent = await bot.send_message(ana.id, "Go?", reply_markup=markup)
        query_id = await ana.press(sent.message_id, "go")
        await asyncio.sleep(0.3)
        with pytest.raises(BadRequest, match="Query is too old"):
            await bot.answer_callback_query(query_id)
