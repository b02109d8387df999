"""CheckpointStore: what the runtime asks of the place where checkpoints lie, whichever database it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver

from agent.errors import CheckpointNotStored, LeaseLost

OnRefused = Callable[[LeaseLost | CheckpointNotStored], None]
"""Hears at once, on the event loop, that a write of a run was refused: LangGraph notices at the run's end."""


class CheckpointStore(Protocol):
    """The checkpoints of all threads.

    A thread's fence is a number that only grows. Whoever writes names the fence it was given; every write compares it
    in its own transaction and raises `LeaseLost` when another one stands, or none since the thread was deleted.
    A database that refuses or does not answer is `CheckpointNotStored`, whatever its driver calls it.
    """

    def saver(self, fence: int | None = None, on_refused: OnRefused | None = None) -> BaseCheckpointSaver[Any]:
        """Give a saver for one run, cheaply; without a fence nothing is compared: for reading."""
        ...

    async def claim(self, thread_id: str, fence: int) -> None:
        """Raise the thread's fence; raises `LeaseLost` if a higher one stands."""
        ...

    async def newest(self, thread_id: str) -> str | None:
        """Give the id of the thread's newest checkpoint."""
        ...

    async def prune(self, thread_id: str, fence: int) -> None:
        """Forget all but the last state of each of the last turns; only between runs."""
        ...

    async def rollback(self, thread_id: str, checkpoint_id: str | None, fence: int) -> bool:
        """Forget what came after a checkpoint, with None everything; False if there is no such checkpoint."""
        ...

    async def delete(self, thread_id: str) -> None:
        """Forget the thread and its fence."""
        ...


def first_line(error: Exception) -> str:
    """Give the driver's own sentence; what follows it repeats the statement."""
    return str(error).partition("\n")[0]
