"""What can wait lets those go first who have seen nothing of an answer yet, but not for ever."""

import asyncio

from bridge.first_words import FirstWords


async def test_with_nobody_waiting_nothing_is_waited_for() -> None:
    assert await FirstWords().all_said(60)


async def test_the_last_word_lets_what_waits_go_on() -> None:
    words = FirstWords()
    first, second = words.begin(), words.begin()
    waiting = asyncio.create_task(words.all_said(60))
    first.end()
    first.end()  # said twice, counted once
    await asyncio.sleep(0)
    assert not waiting.done()
    second.end()
    assert await waiting


async def test_one_who_came_while_the_last_word_was_said_is_waited_for_too() -> None:
    words = FirstWords()
    first = words.begin()
    waiting = asyncio.create_task(words.all_said(60))
    await asyncio.sleep(0)
    first.end()
    second = words.begin()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    second.end()
    assert await waiting


async def test_somebody_who_is_never_answered_holds_nobody_up_longer_than_patience_lasts() -> None:
    words = FirstWords()
    with words.awaited():
        assert not await words.all_said(0.01)
    assert await words.all_said(60)
