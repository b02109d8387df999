"""Graphs that go on though they were cancelled: owned until they end."""

import asyncio
import logging

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 0.25  # a stop is to be seen within a second, and the run's end has still to be written down


class StubbornGraphs:
    """Ends tasks, and keeps those that do not let themselves be ended: a tool may swallow its cancellation."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def end(self, task: asyncio.Task[None]) -> bool:
        """Cancel the task and wait a moment. False: it goes on, is kept here, and must be kept from writing."""
        if task.done():
            return True
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        task.cancel()
        await asyncio.wait({task}, timeout=_PATIENCE_SECONDS)
        if not task.done():
            logger.error("%s goes on though it was cancelled; it is left alone and can write nothing", task.get_name())
        return task.done()

    async def stop(self) -> None:
        """Wait a moment for those that are left. They are not cancelled again: the graph would let go of its tool and end without it."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_PATIENCE_SECONDS)
        for task in self._tasks:
            logger.error("%s has not ended to the last", task.get_name())

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waited for the task has read it; of one left alone it says nothing of use
