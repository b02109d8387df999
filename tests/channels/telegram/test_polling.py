"""Updates are confirmed only when they are safe, and listening goes on whatever happens."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from telegram.error import Conflict, InvalidToken, NetworkError

from channels.contract import ChannelHealth
from channels.telegram import polling, standing
from channels.telegram.polling import Poller
from channels.telegram.request import Flooded
from tests.contracts.host import MemoryHost


class Queue:
    """Telegram's side: keeps updates until a higher offset is asked for; `faults` are raised by the next questions."""

    def __init__(self, *updates: int) -> None:
        self.pending = list(updates)
        self.offsets: list[int | None] = []
        self.faults: list[Exception | None] = []
        self.handled: list[int] = []
        self.connections = 0
        self.taken_over = 0
        self.silent = False

    async def connect(self) -> None:
        self.connections += 1

    async def take_over(self) -> None:
        assert self.connections
        self.taken_over += 1

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
    monkeypatch.setattr(standing, "_LONGEST_BACKOFF_SECONDS", 0.02)


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
    queue = Queue()
    queue.silent = True
    poller = Poller(queue.connect, queue.fetch, queue.handle, timeout_seconds=25, clock=lambda: now[0])
    assert not poller.health().ok
    task = asyncio.create_task(poller.run())
    await until(lambda: queue.offsets)
    now[0] = 60.0
    assert poller.health().ok
    now[0] = 70.0
    assert poller.health().detail == "no answer from Telegram for 70 s"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_last_batch_is_confirmed_at_the_end() -> None:
    queue = Queue(7)
    poller = Poller(queue.connect, queue.fetch, queue.handle, timeout_seconds=0)
    await poller.connect()
    poller.start(MemoryHost(), "polling")
    await until(lambda: queue.handled)
    await poller.stop()
    assert queue.pending == []


async def test_a_replica_that_stands_by_asks_nothing_and_is_well() -> None:
    queue, turn = Queue(7), asyncio.Event()

    class Replica(MemoryHost):
        async def run_alone(self, task: str, work: Callable[[], Awaitable[None]]) -> None:
            assert task == "polling"
            await turn.wait()
            await work()

    poller = Poller(queue.connect, queue.fetch, queue.handle, timeout_seconds=0, take_over=queue.take_over)
    await poller.connect()
    poller.start(Replica(), "polling")
    await asyncio.sleep(0.05)
    assert queue.offsets == []
    assert poller.health() == ChannelHealth(
        ok=True, detail="another replica listens; this one takes over when it is gone"
    )
    turn.set()
    await until(lambda: queue.handled)
    assert queue.taken_over == 1
    assert poller.health() == ChannelHealth(ok=True)
    await poller.stop()


async def test_a_conflict_that_lasts_is_said_once_and_never_asked_in_haste(caplog: pytest.LogCaptureFixture) -> None:
    queue = Queue()
    queue.faults = [Conflict("terminated by other getUpdates request")] * 1000
    with caplog.at_level(logging.INFO, "channels.telegram"):
        async with polled(queue) as poller:
            await until(lambda: len(queue.offsets) > 4)
            assert "@BotFather" in poller.health().detail
            queue.faults.clear()
            await until(lambda: poller.health().ok)
    said = [record.getMessage() for record in caplog.records]
    assert [text.partition(";")[0] for text in said] == [
        "telegram: another program polls Telegram with the same bot token, so each gets only a part of the messages",
        "telegram: it works again",
    ]


def test_the_pauses_between_tries_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "_LONGEST_BACKOFF_SECONDS", 30.0)
    trouble = standing.Standing()
    assert [trouble.failed(Conflict("x")) for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]


def said(update_id: int, chat: int, **more: object) -> dict[str, object]:
    return {"update_id": update_id, "message": {"chat": {"id": chat}, **more}}


async def taken(updates: list[dict[str, object]]) -> list[object]:
    """The order in which updates of one answer are begun and done; the first takes longest."""
    log: list[object] = []
    first_may_end = asyncio.Event()

    async def take(update: dict[str, object]) -> None:
        log.append(update["update_id"])
        if update["update_id"] == 1:
            await first_may_end.wait()
        log.append(-update["update_id"])  # type: ignore[operator]

    async def fetch(offset: int | None, _timeout: int) -> list[dict[str, object]]:
        if offset is None:
            return updates
        await asyncio.Event().wait()
        return []

    poller = Poller(_connected, fetch, take, timeout_seconds=1)
    await poller.connect()
    running = asyncio.create_task(poller.run())
    async with asyncio.timeout(5):
        while len(log) < 2:  # what else could begin has begun after a few rounds of the loop
            await asyncio.sleep(0.001)
            if log == [1]:
                await asyncio.sleep(0.05)
                break
        first_may_end.set()
        while len(log) < 2 * len(updates):  # noqa: ASYNC110  # nobody announces it
            await asyncio.sleep(0.001)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return log


async def _connected() -> None:
    pass


async def test_a_slow_chat_holds_up_no_other_and_keeps_its_own_order() -> None:
    """Symptom: of many messages at once the last was seen only after each before it had been stored."""
    assert await taken([said(1, 7), said(2, 7), said(3, 8)]) == [1, 3, -3, -1, 2, -2]


async def test_nothing_overtakes_a_group_that_moves() -> None:
    assert await taken([said(1, 7, migrate_to_chat_id=8), said(2, 8)]) == [1, -1, 2, -2]


async def test_a_press_is_of_the_chat_of_its_message() -> None:
    press = {"update_id": 3, "callback_query": {"message": {"chat": {"id": 7}}}}
    assert await taken([said(1, 7), press, said(2, 8)]) == [1, 2, -2, -1, 3, -3]
