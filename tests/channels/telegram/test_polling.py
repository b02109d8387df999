"""Updates are confirmed only when they are safe, and listening goes on whatever happens."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from telegram.error import Conflict, InvalidToken, NetworkError

from channels.telegram import polling
from channels.telegram.polling import Poller
from channels.telegram.request import Flooded


class Queue:
    """Telegram's side: keeps updates until a higher offset is asked for; `faults` are raised by the next questions."""

    def __init__(self, *updates: int) -> None:
        self.pending = list(updates)
        self.offsets: list[int | None] = []
        self.faults: list[Exception | None] = []
        self.handled: list[int] = []
        self.connections = 0
        self.silent = False

    async def connect(self) -> None:
        self.connections += 1

    async def fetch(self, offset: int | None, _timeout_seconds: int) -> list[dict[str, Any]]:
        self.offsets.append(offset)
        await asyncio.sleep(0.005)
        if self.silent:
            await asyncio.Event().wait()
        if self.faults and (fault := self.faults.pop(0)) is not None:
            raise fault
        self.pending = [update for update in self.pending if offset is None or update >= offset]
        return [{"update_id": update} for update in self.pending]

    async def handle(self, update: dict[str, Any]) -> None:
        self.handled.append(update["update_id"])


@asynccontextmanager
async def polled(queue: Queue, handle: Callable[..., Any] | None = None) -> AsyncIterator[Poller]:
    poller = Poller(queue.connect, queue.fetch, handle or queue.handle, timeout_seconds=0)
    task = asyncio.create_task(poller.run())
    yield poller
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the poller announces nothing
            await asyncio.sleep(0.005)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_LONGEST_BACKOFF_SECONDS", 0.02)


async def test_updates_are_handled_in_order_and_confirmed_with_the_next_question() -> None:
    queue = Queue(7, 8, 9)
    async with polled(queue) as poller:
        await until(lambda: 10 in queue.offsets)
        assert queue.handled == [7, 8, 9]
        assert queue.offsets[:2] == [None, 10]
        assert poller.health().ok


async def test_an_update_that_could_not_be_stored_is_asked_for_again() -> None:
    queue = Queue(7, 8, 9)
    failures = [RuntimeError("database is away")]

    async def handle(update: dict[str, Any]) -> None:
        if update["update_id"] == 8 and failures:
            raise failures.pop()
        await queue.handle(update)

    async with polled(queue, handle):
        await until(lambda: 10 in queue.offsets)
    assert queue.offsets[:3] == [None, None, 10]
    assert queue.handled == [7, 7, 8, 9]


async def test_health_says_what_keeps_it_from_hearing() -> None:
    for fault, said in (
        (Conflict("terminated by other getUpdates request"), "another program polls"),
        (InvalidToken("Unauthorized"), "bot_token"),
        (NetworkError("aiohttp.ClientOSError"), "can't be reached"),
    ):
        queue = Queue()
        queue.faults = [fault] * 1000
        async with polled(queue) as poller:
            await until(lambda poller=poller: not poller.health().ok and poller.health().detail != "not connected yet")
            assert said in poller.health().detail
            queue.faults.clear()
            await until(lambda poller=poller: poller.health().ok)


async def test_a_question_that_is_never_answered_is_given_up_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_GRACE_SECONDS", 0.05)
    queue = Queue(7)
    queue.silent = True
    async with polled(queue) as poller:
        await until(lambda: poller.health().detail == "Telegram does not answer")
        queue.silent = False
        await until(lambda: queue.handled)


async def test_a_flood_wait_is_honoured() -> None:
    queue = Queue(7)
    queue.faults = [Flooded(0.3)]
    async with polled(queue):
        await until(lambda: queue.offsets)
        await asyncio.sleep(0.15)
        assert len(queue.offsets) == 1
        await until(lambda: queue.handled)


async def test_it_connects_before_it_asks_and_tries_again_when_that_fails() -> None:
    queue = Queue(7)
    attempts: list[int] = []

    async def connect() -> None:
        assert not queue.offsets
        attempts.append(1)
        if len(attempts) < 3:
            raise NetworkError("away")

    poller = Poller(connect, queue.fetch, queue.handle, timeout_seconds=0)
    task = asyncio.create_task(poller.run())
    await until(lambda: queue.handled)
    assert len(attempts) == 3
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_after_a_failure_it_is_heard_at_once_that_all_is_well() -> None:
    queue = Queue()
    queue.faults = [NetworkError("away"), NetworkError("away"), None]
    asked: list[int] = []

    async def fetch(offset: int | None, timeout_seconds: int) -> list[dict[str, Any]]:
        asked.append(timeout_seconds)
        return await queue.fetch(offset, timeout_seconds)

    poller = Poller(queue.connect, fetch, queue.handle, timeout_seconds=25)
    task = asyncio.create_task(poller.run())
    await until(lambda: len(asked) > 3)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert asked[:4] == [25, 0, 0, 25]
    assert poller.health().ok


async def test_silence_shows_in_health_without_a_question() -> None:
    now = [0.0]
    poller = Poller(Queue().connect, Queue().fetch, Queue().handle, timeout_seconds=25, clock=lambda: now[0])
    assert not poller.health().ok
    await poller.connect()
    now[0] = 60.0
    assert poller.health().ok
    now[0] = 70.0
    assert poller.health().detail == "no answer from Telegram for 70 s"


async def test_the_last_batch_is_confirmed_at_the_end() -> None:
    queue = Queue(7)
    async with polled(queue) as poller:
        await until(lambda: queue.handled)
    await poller.confirm()
    assert queue.pending == []
