"""The corpus goes through the adapter and python-telegram-bot to the strict simulator, and is read from people's screens."""

import asyncio
from dataclasses import replace

from tests.channels.telegram.turns import asked, final, made_channel
from tests.contracts.host import MemoryHost
from tests.fidelity.losses import compare
from tests.fidelity.renderers import RENDERERS, stored_message
from tests.fidelity.test_fidelity import ANSWERS
from tests.simulators.telegram.client import TelegramSimulator

_TIMES = 500  # the simulator's time, and the pace with it
_AT_ONCE = 8


async def test_all_answers_arrive_whole_and_no_rule_is_broken() -> None:
    async with TelegramSimulator(time_scale=_TIMES) as telegram:
        host, channel = MemoryHost(), made_channel(telegram, times_usual_pace=_TIMES, max_messages=0)
        await channel.start(host)
        turns = {name: await asked(channel, host, await telegram.person(name[:60])) for name in ANSWERS}
        room = asyncio.Semaphore(_AT_ONCE)

        async def answer(name: str) -> list[str]:
            """What is lost, and who was called."""
            async with room:
                await turns[name].show_at_last(final(ANSWERS[name]))
            messages = (await telegram.chat(turns[name].chat)).from_bot
            shown = [stored_message(message.text, message.entities) for message in messages]
            called = [
                entity["type"] for message in messages for entity in message.entities if "mention" in entity["type"]
            ]
            return called + compare(ANSWERS[name], replace(RENDERERS["telegram"], show=lambda _: shown)).lost

        lost = dict(zip(ANSWERS, await asyncio.gather(*map(answer, ANSWERS)), strict=True))
        assert {name: what for name, what in lost.items() if what} == {}
        assert await telegram.violations() == []
        await channel.stop()
        await channel.close()
