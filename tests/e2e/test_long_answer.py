"""An answer that outlasts, several times over, all that could end it early: it comes whole, once and in order."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.long_answer import lost
from tests.e2e.house import running, settings_for
from tests.e2e.reading import until
from tests.simulators.model import Stall, Text, answer_text
from tests.simulators.model.client import ModelSimulator
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = pytest.mark.e2e

TOKENS = 2_400
TOKENS_PER_SECOND = 100.0
SILENCE_SECONDS = 4.0  # in mid answer; longer than a draft or a sign of activity lives by itself
TIMES = 10.0  # so much faster Telegram's drafts and signs vanish, after 3 and 0.5 seconds
HASTE = "20"
READ_SECONDS = 6
SHORT_LEASES = {"lease_seconds": 3, "heartbeat_seconds": 0.5, "stream_retention_seconds": 1, "drain_seconds": 5}


async def test_it_outlasts_leases_drafts_read_timeouts_and_retention(tmp_path: Path) -> None:
    async with TelegramSimulator(time_scale=TIMES) as telegram, ModelSimulator() as model:
        settings = settings_for(telegram, model, None)
        settings["runs"] = SHORT_LEASES
        settings["models"][0] |= {"timeout": READ_SECONDS, "stream_chunk_timeout": READ_SECONDS}
        settings["channels"]["telegram"]["poll_timeout_seconds"] = 5
        ana = await telegram.person()
        group = await telegram.group(ana)
        places = {"in private": ana.id, "in the group": group}
        whole = {place: answer_text(f"long {place}", TOKENS) for place in places}
        for place, text in whole.items():
            half = len(text) // 2
            script = Text(text[:half], TOKENS_PER_SECOND), Stall(SILENCE_SECONDS), Text(text[half:], TOKENS_PER_SECOND)
            await model.script(*script, match=f"at length {place}")
        async with running(tmp_path / "home", settings, {"HASTE": HASTE}) as program:
            await ana.send("at length in private")
            await ana.send(f"@{telegram.bot_username} at length in the group", chat=group)

            async def all_is_there() -> bool:
                return not any([await lost(telegram, chat, whole[place]) for place, chat in places.items()])

            await until(all_is_there, 80)
            await asyncio.sleep(2)
            assert [await lost(telegram, chat, whole[place]) for place, chat in places.items()] == [None, None]
            assert list((await model.asked()).values()) == [1, 1]
            drafts = [effect["data"]["text"] for effect in await telegram.effects() if effect["kind"] == "draft"]
            assert any(before == after for before, after in pairwise(drafts))  # kept alive while nothing came
            assert "lease" not in program.log()
            assert await telegram.violations() == []
            assert await model.violations() == []
