"""Flood control: bursts pass, steady excess is told to wait, and whoever does not wait waits longer."""

import asyncio
import time
from datetime import timedelta

import aiohttp
import pytest
import telegram
from telegram.error import RetryAfter

from tests.simulators.telegram import Person, TelegramSimulator

from .conftest import client_of


async def send_until_refused(bot: telegram.Bot, chat: int, most: int = 60) -> tuple[int, float]:
    """How many passed, and the seconds to wait that the refusal named."""
    for number in range(most):
        try:
            await bot.send_message(chat, f"message {number}")
        except RetryAfter as refusal:
            return number, seconds(refusal)
    raise AssertionError(f"{most} messages passed")


@pytest.fixture(autouse=True)
def timedeltas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take python-telegram-bot's newer form of `retry_after`; the older one warns."""
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


def seconds(refusal: RetryAfter) -> float:
    assert isinstance(refusal.retry_after, timedelta)
    return refusal.retry_after.total_seconds()


async def test_a_private_chat_takes_a_burst_and_then_one_a_second():
    async with TelegramSimulator(time_scale=0.5) as simulator, client_of(simulator) as bot:
        ana = await simulator.person()
        passed, retry_after = await send_until_refused(bot, ana.id)
        assert 5 <= passed <= 7
        assert retry_after == 1
        await asyncio.sleep(2.05)
        await bot.send_message(ana.id, "after the wait")
        assert await simulator.violations() == []


async def test_a_call_during_the_ban_is_a_violation_and_extends_it(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    await simulator.fault("flood", "sendMessage", retry_after=10)
    with pytest.raises(RetryAfter):
        await bot.send_message(ana.id, "one")
    await asyncio.sleep(0.3)
    with pytest.raises(RetryAfter) as refusal:
        await bot.edit_message_text("two", chat_id=ana.id, message_id=1)
    assert seconds(refusal.value) > 15
    (violation,) = await simulator.violations()
    assert violation["method"] == "editMessageText"


async def test_a_call_in_flight_when_the_ban_begins_is_no_violation(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    await simulator.fault("flood", "sendMessage", retry_after=10)
    outcomes = await asyncio.gather(*(bot.send_message(ana.id, "x") for _ in range(2)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [RetryAfter, RetryAfter]
    assert await simulator.violations() == []


async def test_a_group_takes_twenty_a_minute_edits_included():
    async with TelegramSimulator(time_scale=2) as simulator, client_of(simulator) as bot:
        group = await simulator.group(await simulator.person())
        sent = await bot.send_message(group, "0")
        for number in range(1, 19):
            await bot.edit_message_text(str(number), chat_id=group, message_id=sent.message_id)
            await asyncio.sleep(0.45)
        _, retry_after = await send_until_refused(bot, group)
        assert retry_after >= 1
        refused = (await simulator.calls())[-1]
        assert refused["outcome"].startswith("429")
        # The burst of the chat alone would allow more; the group's twenty are used up.
        counted = [call for call in await simulator.calls() if call["outcome"] == "ok" and call["method"] != "getMe"]
        assert 20 <= len(counted) <= 26


async def test_thirty_a_second_overall():
    async with TelegramSimulator(time_scale=0.1) as simulator, client_of(simulator) as bot:
        people = [await simulator.person(f"P{number}") for number in range(50)]
        outcomes = await asyncio.gather(*(bot.send_message(one.id, "x") for one in people), return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, RetryAfter)]
        assert 5 <= len(refused) <= 20


async def test_drafts_have_a_pace_of_their_own():
    async with TelegramSimulator(time_scale=0.1) as simulator, client_of(simulator) as bot:
        ana = await simulator.person()
        for number in range(5):
            await bot.send_message_draft(ana.id, 7, str(number))
        with pytest.raises(RetryAfter):
            await bot.send_message_draft(ana.id, 7, "too fast")
        await bot.send_message(ana.id, "the message itself still passes")


async def test_the_wait_is_in_the_body_and_in_a_header(ana: Person, simulator: TelegramSimulator):
    await simulator.fault("flood", "sendMessage", retry_after=9)
    url = f"{simulator.base_url}/bot{simulator.token}/sendMessage"
    async with aiohttp.ClientSession() as session, session.post(url, json={"chat_id": ana.id, "text": "x"}) as reply:
        assert reply.status == 429
        assert reply.headers["Retry-After"] == "9"
        body = await reply.json()
    assert body["parameters"] == {"retry_after": 9}
    assert body["description"] == "Too Many Requests: retry after 9"


async def test_benches_run_without_limits():
    async with TelegramSimulator(limits=False) as simulator, client_of(simulator) as bot:
        ana = await simulator.person()
        began = time.monotonic()
        for number in range(60):
            await bot.send_message(ana.id, str(number))
        assert time.monotonic() - began < 10
        assert len((await simulator.chat(ana.id)).from_bot) == 60
