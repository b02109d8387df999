"""Faults come exactly where they are ordered, so that a crash test knows what the platform has seen."""

import asyncio
import time

import pytest
import telegram
from telegram.error import BadRequest, NetworkError, TimedOut

from tests.simulators.telegram import Person, TelegramSimulator

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_lost_reply_leaves_the_effect(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    await simulator.fault("lose_reply", "sendMessage")
    with pytest.raises(NetworkError):
        await bot.send_message(ana.id, "sent once")
    assert [message.text for message in (await simulator.chat(ana.id)).from_bot] == ["sent once"]
    await bot.send_message(ana.id, "the next one is answered")
    assert (await simulator.calls("sendMessage"))[-2]["outcome"] == "reply lost"


async def test_a_server_error_comes_before_any_effect(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    await simulator.fault("error", "sendMessage", status=500, count=2)
    for _ in range(2):
        with pytest.raises(NetworkError):
            await bot.send_message(ana.id, "not sent")
    assert (await simulator.chat(ana.id)).from_bot == ()
    await bot.send_message(ana.id, "sent")


@pytest.mark.parametrize(("when", "effects"), [("before", 0), ("after", 1)])
async def test_a_reset_connection_lies_on_the_side_ordered(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator, when: str, effects: int
):
    await simulator.fault("reset", "sendMessage", when=when)
    with pytest.raises(NetworkError):
        await bot.send_message(ana.id, "hello")
    assert len((await simulator.chat(ana.id)).from_bot) == effects


@pytest.mark.parametrize(("when", "effects"), [("before", 0), ("after", 1)])
async def test_a_delay_outlasts_the_clients_patience(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator, when: str, effects: int
):
    await simulator.fault("delay", "sendMessage", seconds=1, when=when)
    with pytest.raises(TimedOut):
        await bot.send_message(ana.id, "hello", read_timeout=0.3)
    assert len((await simulator.chat(ana.id)).from_bot) == effects
    began = time.monotonic()
    await bot.send_message(ana.id, "quick again")
    assert time.monotonic() - began < 0.9


@pytest.mark.parametrize(("when", "effects"), [("before", 0), ("after", 1)])
async def test_a_held_call_waits_on_the_side_ordered(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator, when: str, effects: int
):
    await simulator.hold("gate", "sendMessage", when=when)
    sending = asyncio.create_task(bot.send_message(ana.id, "held"))
    await simulator.gate_reached("gate")
    assert len((await simulator.chat(ana.id)).from_bot) == effects
    assert not sending.done()
    await simulator.release("gate")
    await asyncio.wait_for(sending, 5)
    assert len((await simulator.chat(ana.id)).from_bot) == 1


async def test_orders_choose_their_calls_by_text_chat_and_number(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    bo = await simulator.person("Bo")
    await simulator.fault("error", "sendMessage", contains="final", skip=1, chat_id=ana.id)
    await bot.send_message(bo.id, "final for Bo")
    await bot.send_message(ana.id, "first")
    await bot.send_message(ana.id, "final one")
    with pytest.raises(NetworkError):
        await bot.send_message(ana.id, "final two")
    await bot.send_message(ana.id, "final three")


async def test_orders_can_be_taken_back(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    await simulator.fault("error", count=100)
    await simulator.clear_faults()
    await bot.send_message(ana.id, "passes")
    with pytest.raises(BadRequest):
        await bot.send_message(ana.id, "")


async def test_a_held_call_has_its_effect_even_when_its_client_died_meanwhile(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    await simulator.hold("gate", "sendMessage")
    sending = asyncio.create_task(bot.send_message(ana.id, "in flight"))
    await simulator.gate_reached("gate")
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    await simulator.release("gate")
    await simulator.wait_for(ana.id, lambda chat: chat.last and chat.last.text == "in flight", 3)
