"""What a run is asked, and where it stands after a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal

from langgraph.types import Command, StateSnapshot

from agent.context import RunContext

LEAD_AGENT = "lead_agent"


@dataclass(frozen=True, slots=True)
class AssistantInfo:
    """An assistant as clients see it."""

    assistant_id: str
    graph_id: str
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run of one thread."""

    context: RunContext
    fence: int
    """The thread's fencing number under which the run may write checkpoints."""
    assistant_id: str = LEAD_AGENT
    input: Mapping[str, Any] | None = None
    """`{"messages": [...]}`; None goes on from the last checkpoint."""
    command: Command[Any] | None = None
    """Instead of an input: resume, goto, update."""
    config: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The caller's parts of a RunnableConfig: configurable, tags, metadata, recursion_limit."""
    checkpoint_id: str | None = None
    """Start from this checkpoint instead of the newest."""
    interrupt_before: Sequence[str] | Literal["*"] | None = None
    interrupt_after: Sequence[str] | Literal["*"] | None = None
    durability: Literal["sync", "async", "exit"] = "async"


class Continuation(Enum):
    """How a run that may have begun is to be gone on with."""

    FRESH = "fresh"  # no checkpoint of this run exists: give the input
    UNFINISHED = "unfinished"  # its last finished step is stored, there is more to do: go on with input None
    FINISHED = "finished"  # its last step is stored, nothing is left to do
    INTERRUPTED = "interrupted"  # it stands at a LangGraph interrupt()


def continuation_from(snapshot: StateSnapshot, run_id: str) -> Continuation:
    """Read from the newest state of a thread how one of its runs is to be gone on with."""
    if (snapshot.metadata or {}).get("run_id") != run_id:
        return Continuation.FRESH
    if snapshot.interrupts:
        return Continuation.INTERRUPTED
    # A task whose result is stored, though its step's state is not, is in `tasks` and no longer in `next`.
    return Continuation.UNFINISHED if snapshot.tasks else Continuation.FINISHED
