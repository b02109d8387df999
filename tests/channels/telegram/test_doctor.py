"""`threadbridge doctor` tries the token and looks around without listening."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from channels.contract import ChannelNotConfigured, ChannelUnavailable, Remark, SupportsDoctor, Surroundings
from channels.telegram import checkup
from tests.channels.telegram.turns import made_channel
from tests.contracts.host import MemoryHost
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = pytest.mark.asyncio(loop_scope="module")
ALONE = Surroundings()
LISTENING = Surroundings(tasks=("telegram:4242:updates",))


@pytest.fixture(autouse=True)
def _short_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "_PROBE_SECONDS", 1)


async def said(telegram: TelegramSimulator, around: Surroundings = ALONE, **settings: object) -> Sequence[Remark]:
    channel = made_channel(telegram, **settings)
    assert isinstance(channel, SupportsDoctor)
    try:
        return await channel.doctor(around)
    finally:
        await channel.close()


def warnings(remarks: Sequence[Remark]) -> list[str]:
    return [remark.text for remark in remarks if remark.is_warning]


async def test_a_good_token_says_who_the_bot_is_and_a_wrong_one_what_to_do() -> None:
    async with TelegramSimulator() as telegram:
        ana = await telegram.person()
        await ana.send("not yet heard")
        assert await said(telegram) == [Remark(f"answers as @{telegram.bot_username}")]
        with pytest.raises(ChannelNotConfigured, match="BotFather"):
            await said(telegram, bot_token="1:WRONG")
        assert len(await telegram.pending_updates()) == 1


async def test_the_log_names_the_bot_at_the_start(telegram, caplog: pytest.LogCaptureFixture) -> None:
    channel = made_channel(telegram)
    with caplog.at_level(logging.INFO, "channels.telegram"):
        await channel.start(MemoryHost())
    await channel.stop()
    await channel.close()
    assert f"telegram: answers as @{telegram.bot_username}" in caplog.messages
    assert "privacy" not in caplog.text
    assert telegram.token not in caplog.text


async def test_a_platform_that_is_away_is_not_the_tokens_fault(telegram) -> None:
    with pytest.raises(ChannelUnavailable, match=r"can't be reached \(127\.0\.0\.1:9: .*HTTPS_PROXY"):
        await said(telegram, base_url="http://127.0.0.1:9")


async def test_another_program_that_polls_is_found_and_said_with_what_to_do(telegram) -> None:
    other = made_channel(telegram)
    await other.start(MemoryHost())
    (warning,) = warnings(await said(telegram))
    assert warning.startswith("another program polls Telegram with the same bot token")
    assert "@BotFather" in warning
    await other.stop()
    assert warnings(await said(telegram)) == []
    await other.close()


async def test_a_bridge_that_runs_is_not_taken_for_another_program_nor_disturbed(telegram, channel) -> None:
    before = len(await telegram.calls("getUpdates"))
    remarks = await said(telegram, LISTENING)
    assert [remark.text for remark in remarks][1:] == ["a running bridge listens"]
    outcomes = [call["outcome"] for call in (await telegram.calls("getUpdates"))[before:]]
    assert [outcome for outcome in outcomes if outcome.startswith("409")] == []


async def test_a_webhook_that_is_left_over_or_foreign_is_said(telegram, monkeypatch) -> None:
    other = made_channel(telegram)
    await other._open_connections()
    await other._bot.set_webhook("http://127.0.0.1:9/other")
    (warning,) = warnings(await said(telegram))
    assert "a webhook to 127.0.0.1 is set, which takes all messages; the bridge removes it" in warning
    (warning,) = warnings(await said(telegram, LISTENING))
    assert warning.startswith("another program has set a webhook")
    ours = {"transport": "webhook", "public_url": "http://127.0.0.1:9"}
    assert "sets its own when it starts" in (await said(telegram, **ours))[-1].text
    await other._bot.set_webhook("http://127.0.0.1:9/telegram/webhook")
    assert (await said(telegram, **ours))[-1] == Remark("Telegram calls http://127.0.0.1:9/telegram/webhook")
    await (await telegram.person()).send("hello?")
    async with asyncio.timeout(10):
        while "last_error_date" not in await telegram.webhook_info():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)
    (warning,) = warnings(await said(telegram, **ours))
    assert "public_url leads to this gateway from outside" in warning
    await other._bot.delete_webhook(drop_pending_updates=True)
    await other.close()


async def test_privacy_mode_is_said_where_it_keeps_from_hearing_what_is_to_be_heard(telegram, caplog) -> None:
    assert warnings(await said(telegram)) == []
    (warning,) = warnings(await said(telegram, speaks="always"))
    assert warning.startswith("speaks: always does not work: the bot's privacy mode is on")
    assert "/setprivacy" in warning
    (warning,) = warnings(await said(telegram, Surroundings(overhears=True)))
    assert warning.startswith("inbox.overheard_messages does not work")
    channel = made_channel(telegram, speaks="always")
    await channel.start(MemoryHost())
    await channel.stop()
    await channel.close()
    assert "speaks: always does not work" in caplog.text
    await telegram.set_bot(privacy_mode=False)
    assert warnings(await said(telegram, Surroundings(overhears=True), speaks="always")) == []
    await telegram.set_bot(privacy_mode=True)
