"""`threadbridge doctor` tries the token without listening."""

import logging

import pytest
from pydantic import SecretStr

from channels.contract import ChannelNotConfigured, ChannelUnavailable
from channels.telegram.adapter import TelegramChannel
from channels.telegram.config import TelegramConfig
from tests.channels.telegram.turns import made_channel
from tests.contracts.host import MemoryHost
from tests.simulators.telegram.client import TelegramSimulator


async def said(base_url: str, token: str) -> str:
    channel = TelegramChannel(TelegramConfig(bot_token=SecretStr(token), base_url=base_url))
    try:
        return await channel.doctor()
    finally:
        await channel.close()


async def test_a_good_token_says_who_the_bot_is_and_a_wrong_one_what_to_do() -> None:
    async with TelegramSimulator() as telegram:
        assert await said(telegram.base_url, telegram.token) == f"answers as @{telegram.bot_username}"
        with pytest.raises(ChannelNotConfigured, match="BotFather"):
            await said(telegram.base_url, "1:WRONG")
        assert await telegram.pending_updates() == []


async def test_the_log_names_the_bot_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    async with TelegramSimulator() as telegram:
        channel = made_channel(telegram)
        with caplog.at_level(logging.INFO, "channels.telegram"):
            await channel.start(MemoryHost())
        await channel.stop()
        await channel.close()
        assert f"telegram: answers as @{telegram.bot_username}" in caplog.messages
        assert telegram.token not in caplog.text


async def test_a_platform_that_is_away_is_not_the_tokens_fault() -> None:
    with pytest.raises(ChannelUnavailable, match="cannot be reached"):
        await said("http://127.0.0.1:9", "1:GOOD")
