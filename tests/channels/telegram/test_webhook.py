"""Telegram calls the bridge: only Telegram, and nothing is lost or doubled whatever happens."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
import pytest_asyncio

from channels.contract import MessageReceived, SupportsWebhooks
from channels.telegram import webhook
from channels.telegram.adapter import TelegramChannel
from channels.telegram.inbound import update_types
from tests.channels.telegram.gateway import Front
from tests.channels.telegram.turns import Turn, final, made_channel, texts
from tests.contracts.host import MemoryHost
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = pytest.mark.asyncio(loop_scope="module")
SECRET = "a-secret-of-our-own"
HEADER = "X-Telegram-Bot-Api-Secret-Token"


@pytest_asyncio.fixture(loop_scope="module")
async def front() -> AsyncIterator[Front]:
    async with Front() as opened:
        yield opened


@asynccontextmanager
async def listening(
    telegram: TelegramSimulator, host: MemoryHost, front: Front, **settings: object
) -> AsyncIterator[TelegramChannel]:
    channel = made_channel(telegram, transport="webhook", public_url=front.url, **settings)
    await front.serve(channel)
    await channel.start(host)
    try:
        yield channel
    finally:
        await channel.stop()
        await channel.close()
    assert await telegram.violations() == []


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - health is looked at, not announced
            await asyncio.sleep(0.02)


async def call(front: Front, body: bytes, secret: str | None = SECRET, method: str = "POST") -> int:
    headers = {"Content-Type": "application/json", **({HEADER: secret} if secret is not None else {})}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"{front.url}{webhook.PATH}", data=body, headers=headers) as reply,
    ):
        return reply.status


async def test_messages_come_by_webhook_in_order_and_are_answered(telegram, host, front, ana) -> None:
    await ana.send("while it was away")
    async with listening(telegram, host, front) as channel:
        assert isinstance(channel, SupportsWebhooks)
        for number in range(5):
            await ana.send(f"message {number}")
        events = await host.wait_for(6)
        assert [event.text for event in events if isinstance(event, MessageReceived)] == [
            "while it was away",
            *(f"message {number}" for number in range(5)),
        ]
        await Turn(channel, events[0]).show(final("here"))
        assert await texts(telegram, ana.id) == ["here"]
        assert channel.health().ok
        (asked,) = [one["parameters"] for one in await telegram.calls("setWebhook")][-1:]
        assert asked["allowed_updates"] == list(update_types(reactions=True))
        assert asked["max_connections"] == 40
        assert telegram.token not in asked["secret_token"]
    assert await telegram.pending_updates() == []


async def test_only_who_knows_the_secret_is_heard_and_nobody_elses_try_is_logged(telegram, host, front, caplog) -> None:
    update = b'{"update_id": 1, "message": {"text": "forged"}}'
    with caplog.at_level(logging.DEBUG, "channels"):
        async with listening(telegram, host, front, webhook_secret=SECRET):
            caplog.clear()
            for wrong in (None, "", "wrong", SECRET[:-1], SECRET.upper(), "ä" * 20):
                assert await call(front, update, wrong) == 403
            assert await call(front, update, method="GET") == 405
            assert caplog.messages == []
            assert await call(front, b"x" * 1_000_001) == 413
            assert await call(front, b"no json") == 400
            assert await call(front, b'["no update"]') == 400
            assert await call(front, b'{"update_id": 2, "something_new": {}}') == 200
    assert host.events == []
    assert SECRET not in caplog.text


async def test_what_could_not_be_stored_is_delivered_again(telegram, host, front, ana) -> None:
    async with listening(telegram, host, front) as channel:
        host.refuse = OSError("the database is away")
        await ana.send("keep this")
        event = await host.wait_for_text("keep this")
        assert [str(event.dedupe_key)] == [one.dedupe_key for one in host.events]
        await telegram.redeliver(int(event.dedupe_key))
        await ana.send("and this")
        await host.wait_for_text("and this")
        assert len(host.events) == 2
        assert channel.health().ok


async def test_what_comes_while_it_is_stopped_waits_at_telegram(telegram, host, front, ana) -> None:
    async with listening(telegram, host, front, webhook_secret=SECRET) as channel:
        await channel.stop()
        assert await call(front, b'{"update_id": 1}') == 503
        await ana.send("is anybody there?")
        assert host.events == []
    async with listening(telegram, host, front, webhook_secret=SECRET):
        await host.wait_for_text("is anybody there?")


async def test_a_webhook_that_another_program_changed_is_said_and_set_anew(
    telegram, host, front, ana, monkeypatch, caplog
) -> None:
    monkeypatch.setattr(webhook, "_CHECK_SECONDS", 0.1)
    async with listening(telegram, host, front) as channel:
        await channel._bot.set_webhook("http://127.0.0.1:9/elsewhere")
        await until(lambda: "another program has set a webhook to 127.0.0.1" in caplog.text)
        await channel._bot.delete_webhook()
        await until(lambda: "another program has removed the webhook" in caplog.text)
        await ana.send("still here")
        await host.wait_for_text("still here")


async def test_health_says_when_telegram_cannot_reach_the_address(telegram, host, front, ana, monkeypatch) -> None:
    monkeypatch.setattr(webhook, "_CHECK_SECONDS", 1.0)
    async with listening(telegram, host, front) as channel:
        await front.close()
        await ana.send("hello?")
        await until(lambda: "public_url leads to this gateway" in channel.health().detail)
        assert "can't deliver 1 updates" in channel.health().detail
        await front.serve(channel)
        await host.wait_for_text("hello?")
        await until(lambda: channel.health().ok)


async def test_a_telegram_that_is_away_at_the_start_is_told_later(telegram, host, front, ana) -> None:
    await telegram.fault("error", "setWebhook", status=502)
    async with listening(telegram, host, front) as channel:
        assert not channel.health().ok
        await ana.send("later")
        await host.wait_for_text("later")
        await until(lambda: channel.health().ok)


async def test_from_webhook_to_polling_and_back_nothing_is_lost_and_each_change_is_said(
    telegram, host, front, ana, caplog
) -> None:
    async with listening(telegram, host, front):
        await ana.send("one")
        await host.wait_for_text("one")
    await ana.send("two")
    caplog.clear()
    polling = made_channel(telegram)
    assert list(polling.webhook_routes()) == []
    await polling.start(host)
    await host.wait_for_text("two")
    assert "a webhook to 127.0.0.1 was set; it is removed, for `transport` is polling" in caplog.text
    assert polling.health().ok
    with caplog.at_level(logging.INFO, "channels.telegram"):
        async with listening(telegram, host, front):
            await until(lambda: "another program has set a webhook" in polling.health().detail, 20)
            await ana.send("three")
            await host.wait_for_text("three")
            assert f"listens by webhook at {front.url}{webhook.PATH}" in caplog.text
    await polling.stop()
    await polling.close()
    assert len({event.dedupe_key for event in host.events}) == len(host.events)
