"""Cancels the runs whose readers wanted that when they leave, and left."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from bridge.errors import NotFound, RunFinished

_log = logging.getLogger(__name__)


class AbandonedRuns:
    """Waits a little before it cancels: a connection that was cut comes back within seconds."""

    def __init__(self, cancel: Callable[[str], Awaitable[object]], *, grace_seconds: float) -> None:
        self._cancel = cancel
        self._grace_seconds = grace_seconds
        self._readers: Counter[str] = Counter()
        self._left: set[str] = set()
        self._graces: dict[str, asyncio.TimerHandle] = {}
        self._cancelling: set[asyncio.Task[None]] = set()

    @contextmanager
    def reading(self, run_id: str) -> Iterator[None]:
        """While somebody reads a run it is not abandoned; who comes back calls the cancelling off."""
        self._left.discard(run_id)
        if grace := self._graces.pop(run_id, None):
            grace.cancel()
        self._readers[run_id] += 1
        try:
            yield
        finally:
            self._readers[run_id] -= 1
            if not self._readers[run_id]:
                del self._readers[run_id]
                self._begin_grace(run_id)

    def leave(self, run_id: str) -> None:
        """A reader that asked for `cancel` is gone; called while it still counts as reading."""
        self._left.add(run_id)

    async def close(self) -> None:
        """Forget the graces, which the next process cannot know of, and finish what was begun."""
        for grace in self._graces.values():
            grace.cancel()
        self._graces.clear()
        await asyncio.gather(*self._cancelling)

    def _begin_grace(self, run_id: str) -> None:
        if run_id in self._left:
            self._left.discard(run_id)
            self._graces[run_id] = asyncio.get_running_loop().call_later(self._grace_seconds, self._expire, run_id)

    def _expire(self, run_id: str) -> None:
        del self._graces[run_id]
        task = asyncio.get_running_loop().create_task(self._cancel_quietly(run_id))
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)

    async def _cancel_quietly(self, run_id: str) -> None:
        try:
            await self._cancel(run_id)
        except (RunFinished, NotFound):
            return
        except Exception:  # noqa: BLE001 - the edge of a task nobody waits for
            _log.exception("cancelling run %s, which nobody reads any more, failed", run_id)
