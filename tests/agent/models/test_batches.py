"""A stream read in batches: whole, in order, its end and its errors where they belong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from agent.models.batches import batched


async def numbers(count: int, *, pause_seconds: float = 0.0) -> AsyncGenerator[int, None]:
    for number in range(count):
        if pause_seconds:
            await asyncio.sleep(pause_seconds)
        yield number


async def test_the_first_item_comes_at_once_and_the_rest_in_order_and_few_batches() -> None:
    batches = [batch async for batch in batched(numbers(5000), 0.01)]
    assert [number for batch in batches for number in batch] == list(range(5000))
    assert len(batches) < 20


async def test_an_item_is_not_held_back_until_the_next_comes() -> None:
    arrived = asyncio.Event()

    async def two_then_silence() -> AsyncGenerator[int, None]:
        yield 1
        yield 2
        await arrived.wait()
        yield 3

    batches = batched(two_then_silence(), 0.01)
    got: list[int] = []
    while len(got) < 2:
        got += await anext(batches)
    arrived.set()
    assert got == [1, 2]
    assert [batch async for batch in batches] == [[3]]


async def test_what_came_before_an_error_is_given_first() -> None:
    async def breaks() -> AsyncGenerator[int, None]:
        yield 1
        raise ValueError("broken")

    batches = batched(breaks(), 0.01)
    assert await anext(batches) == [1]
    with pytest.raises(ValueError, match="broken"):
        await anext(batches)


async def test_the_stream_is_closed_in_the_end_also_when_its_reader_goes() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[int, None]:
        try:
            while True:
                await asyncio.sleep(0)
                yield 1
        finally:
            closed.set()

    batches = batched(endless(), 0.01)
    await anext(batches)
    await batches.aclose()
    assert closed.is_set()


async def test_a_slow_reader_stops_the_stream_instead_of_filling_memory() -> None:
    given = 0

    async def counted() -> AsyncGenerator[int, None]:
        nonlocal given
        while True:
            given += 1
            await asyncio.sleep(0)
            yield given

    batches = batched(counted(), 0.0)
    await anext(batches)
    for _ in range(5000):
        await asyncio.sleep(0)
    assert given < 1100
    await batches.aclose()
