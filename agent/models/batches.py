"""Reads an asynchronous stream in batches: what came within a window, together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, TypeVar

T = TypeVar("T")

_MOST_AHEAD: Final = 1024
"""How many items the stream may run ahead of its reader."""


async def batched(source: AsyncGenerator[T, None], window_seconds: float) -> AsyncGenerator[list[T], None]:
    """Give what the stream gives, in order: the first item at once, then at most a batch per window, the end undelayed.

    Raises what the stream raises, after all that came before it. The stream is read, and closed, in a task of its own
    that ends with this generator.
    """
    arrived = asyncio.Event()
    queue: asyncio.Queue[T] = asyncio.Queue(_MOST_AHEAD)
    reading = asyncio.create_task(_read(source, queue, arrived), name="read a model's stream")
    reading.add_done_callback(lambda _: arrived.set())
    try:
        while not (reading.done() and queue.empty()):
            await arrived.wait()
            arrived.clear()
            if items := [queue.get_nowait() for _ in range(queue.qsize())]:
                yield items
            await asyncio.wait([reading], timeout=window_seconds)
        reading.result()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _read(source: AsyncGenerator[T, None], queue: asyncio.Queue[T], arrived: asyncio.Event) -> None:
    async with aclosing(source) as items:
        async for item in items:
            await queue.put(item)
            arrived.set()
