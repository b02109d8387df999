"""New work waits for a busy event loop, but not for ever."""

import asyncio
import time

from bridge.runs.loop_room import room_in_the_loop

BUSY_SECONDS = 0.03


async def keep_busy(rounds: int) -> None:
    """As many short steps, each of which holds the loop up, as much work at once would be."""
    for _ in range(rounds):
        time.sleep(BUSY_SECONDS)  # noqa: ASYNC251  # holding the loop up is the point
        await asyncio.sleep(0)


async def test_an_idle_loop_has_room() -> None:
    assert await room_in_the_loop()


async def test_a_busy_loop_is_waited_for() -> None:
    busy = asyncio.create_task(keep_busy(20))
    await asyncio.sleep(0)
    assert await room_in_the_loop(60)
    assert busy.done()


async def test_a_loop_that_stays_busy_is_not_waited_for_longer_than_patience_lasts() -> None:
    """Symptom: a graph that held the loop up would have kept every other thread from being answered."""
    busy = asyncio.create_task(keep_busy(10_000))
    await asyncio.sleep(0)
    assert not await room_in_the_loop(0.2)
    assert not busy.done()
    busy.cancel()
    await asyncio.gather(busy, return_exceptions=True)
