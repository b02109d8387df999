"""Group commit: writes that wait together share a transaction, and with it one wait for the disk and one way back."""

import asyncio
import sqlite3
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import Connection, Engine

_MOST_TOGETHER: Final = 50  # the first of them waits for the last

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Write(Generic[T]):
    work: Callable[[Connection], T]
    durable: bool
    answer: "asyncio.Future[T]"


@dataclass(frozen=True, slots=True)
class _Outcome:
    value: Any = None
    error: BaseException | None = None


class GroupCommit:
    """The one writing thread of an SQLite file; writes are done in the order they came.

    Each is whole or not at all by itself, in a savepoint of its own, and is answered when the transaction is committed. None waits for
    company: one that comes alone is committed alone, and those that came meanwhile are the next group.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: deque[_Write[Any]] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-write")

    async def write(self, work: Callable[[Connection], T], *, durable: bool) -> T:
        """Run the work in a transaction that waits for the disk itself if this or a neighbour is `durable`."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Write(work, durable, answer))
        self._thread.submit(self._commit_waiting)  # one call a write: whatever is left over has its own
        return await answer

    def close(self) -> None:
        """Commit what waits. Blocks."""
        self._thread.shutdown()

    def _commit_waiting(self) -> None:
        group = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_TOGETHER))]
        if group:
            _answer(group, self._commit(group))

    def _commit(self, group: Sequence[_Write[Any]]) -> Sequence[_Outcome]:
        durable = any(write.durable for write in group)
        try:
            with self._engine.connect() as connection, _synchronous(connection, durable), connection.begin():
                if len(group) == 1:
                    return [_Outcome(group[0].work(connection))]
                return [_in_savepoint(connection, write.work) for write in group]
        except BaseException as error:  # noqa: BLE001 - the edge of the thread: whoever waits is told
            return [_Outcome(error=error)] * len(group)


def _in_savepoint(connection: Connection, work: Callable[[Connection], Any]) -> _Outcome:
    """Raises what the work raised when the whole transaction is gone with it, as SQLite has it after some faults (a full disk)."""
    cursor = connection.connection.cursor()
    cursor.execute("SAVEPOINT one")
    try:
        outcome = _Outcome(work(connection))
    except BaseException as error:  # noqa: BLE001 - whoever waits for this write is told; the others go on
        try:
            cursor.execute("ROLLBACK TO one")
        except sqlite3.Error:  # there is no such savepoint any more
            raise error from None
        outcome = _Outcome(error=error)
    cursor.execute("RELEASE one")
    cursor.close()
    return outcome


def _answer(group: Sequence[_Write[Any]], outcomes: Sequence[_Outcome]) -> None:
    """Wake each event loop once."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], _Outcome]]] = defaultdict(list)
    for write, outcome in zip(group, outcomes, strict=True):
        by_loop[write.answer.get_loop()].append((write.answer, outcome))
    for loop, answers in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, answers)


def _settle(answers: Sequence[tuple["asyncio.Future[Any]", _Outcome]]) -> None:
    for answer, outcome in answers:
        if answer.done():  # its caller was cancelled
            continue
        if isinstance(outcome.error, StopIteration):  # no future takes one, and those behind it wait for their answers
            answer.set_exception(RuntimeError(f"a write raised {outcome.error!r}"))
        elif outcome.error is not None:
            answer.set_exception(outcome.error)
        else:
            answer.set_result(outcome.value)


@contextmanager
def _synchronous(connection: Connection, full: bool) -> Any:
    if not full:
        yield
        return
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA synchronous=FULL")
    try:
        yield
    finally:
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()
