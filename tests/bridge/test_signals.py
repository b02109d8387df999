"""Wake-ups: none is missed, none comes from another topic."""

import asyncio
import time

from bridge.signals import Signals


async def test_a_change_between_looking_and_waiting_is_not_missed() -> None:
    signals = Signals()
    with signals.watch("runs") as watch:
        signals.notify("runs")
        assert await watch.wait(1)
        assert not await watch.wait(0.01)


async def test_every_watcher_of_a_topic_wakes_and_no_other() -> None:
    signals = Signals()
    with signals.watch("a") as one, signals.watch("a", "b") as two, signals.watch("c") as three:
        signals.notify("a")
        assert await one.wait(1)
        assert await two.wait(1)
        assert not await three.wait(0.01)
        signals.notify("b")
        assert await two.wait(1)
        assert not await one.wait(0)


async def test_a_change_while_waiting_wakes() -> None:
    signals = Signals()
    with signals.watch("a") as watch:
        asyncio.get_running_loop().call_later(0.01, signals.notify, "a")
        assert await watch.wait(5)


async def test_a_change_in_the_moment_the_wait_is_over_counts() -> None:
    """Symptom: now and then a message lay for five seconds before it was looked at."""
    signals, loop = Signals(), asyncio.get_running_loop()
    with signals.watch("a") as watch:
        loop.call_later(0.005, time.sleep, 0.02)  # makes both fall due in the same round of the loop, the end first
        loop.call_later(0.015, signals.notify, "a")
        assert await watch.wait(0.01)
        assert not await watch.wait(0)


async def test_a_watch_that_has_ended_hears_nothing() -> None:
    signals = Signals()
    with signals.watch("a") as watch:
        pass
    signals.notify("a")
    assert not await watch.wait(0.01)
    assert not signals._watches
