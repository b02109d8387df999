"""What a run is: its states, what it was asked to do, and one row of `runs` as a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import orjson


class RunStatus(StrEnum):
    """LangGraph's words. A run leaves the last three never again."""

    PENDING = "pending"  # waits for its turn on the thread
    RUNNING = "running"  # a process holds its lease and drives the graph, or will go on after a crash
    SUCCESS = "success"
    ERROR = "error"
    INTERRUPTED = "interrupted"  # stopped by a person, or standing at an interrupt()

    @property
    def is_final(self) -> bool:
        """Whether the run has ended."""
        return self in {RunStatus.SUCCESS, RunStatus.ERROR, RunStatus.INTERRUPTED}


class MultitaskStrategy(StrEnum):
    """What to do when the thread already has an active run."""

    REJECT = "reject"
    INTERRUPT = "interrupt"
    ROLLBACK = "rollback"
    ENQUEUE = "enqueue"


class CancelAction(StrEnum):
    """How a run is stopped: keep what it did, put the thread back to before it, or that and do it anew with what the person changed."""

    INTERRUPT = "interrupt"
    ROLLBACK = "rollback"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Calls of one model; `counted` are those whose provider told how many tokens they took."""

    calls: int = 0
    counted: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "ModelUsage") -> "ModelUsage":
        return ModelUsage(
            self.calls + other.calls,
            self.counted + other.counted,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class RunUsage:
    """What a run, or several, took: calls by the provider's name of the model, and time from its first attempt to its end."""

    by_model: Mapping[str, ModelUsage] = field(default_factory=dict)
    ran: timedelta = timedelta()

    def __add__(self, other: "RunUsage") -> "RunUsage":
        sums = dict(self.by_model)
        for model, used in other.by_model.items():
            sums[model] = sums.get(model, ModelUsage()) + used
        return RunUsage(sums, self.ran + other.ran)


StreamMode = Literal["values", "updates", "messages-tuple", "custom", "debug", "tasks", "checkpoints"]


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What a run is to do: everything that must survive a restart to do it again. JSON-able throughout."""

    input: Mapping[str, Any] | None = None
    command: Mapping[str, Any] | None = None  # {"resume": …, "goto": …, "update": …}
    config: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    stream_modes: Sequence[StreamMode] = ()  # asked for by the caller, besides those the house needs itself
    stream_subgraphs: bool = False
    checkpoint_id: str | None = None
    interrupt_before: Sequence[str] | Literal["*"] | None = None
    interrupt_after: Sequence[str] | Literal["*"] | None = None
    durability: Literal["sync", "async", "exit"] = "async"
    trigger_event: int | None = None  # the inbox row whose message (with its files) is the input
    answers: str | None = None  # the agent's request that this message answers in words


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run a client asks the RunManager to start."""

    thread_id: str
    assistant_id: str = "lead_agent"
    spec: RunSpec = RunSpec()
    user_id: str = "default"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    multitask: MultitaskStrategy = MultitaskStrategy.REJECT
    if_not_exists: Literal["create", "reject"] = "reject"
    held_until: datetime | None = None  # it begins only when a person says so, and is dropped if nobody has by then


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One row of `runs`. Times are UTC and carry their zone."""

    run_id: str
    thread_id: str
    assistant_id: str
    user_id: str
    status: RunStatus
    spec: RunSpec
    metadata: Mapping[str, Any]
    multitask: MultitaskStrategy
    created_at: datetime
    updated_at: datetime
    attempt: int = 0
    fence: int = 0
    owner: str | None = None
    lease_expires_at: datetime | None = None
    cancel_action: CancelAction | None = None
    checkpoint_before: str | None = None
    checkpoint_after: str | None = None
    held_until: datetime | None = None
    error: Mapping[str, str] | None = None  # {"error": class or code, "message": …}
    ended_at: datetime | None = None
    unreadable: str | None = None  # why this version cannot tell what the run was to do; `spec` is empty then


class PartId(NamedTuple):
    """`<attempt>.<seq>`: grows within a run, also over a crash."""

    attempt: int
    seq: int

    def __str__(self) -> str:
        return f"{self.attempt}.{self.seq}"

    @classmethod
    def parse(cls, text: str) -> "PartId":
        """Read `<attempt>.<seq>`; raises ValueError for anything else."""
        attempt, _, seq = text.partition(".")
        return cls(int(attempt), int(seq))


@dataclass(frozen=True, slots=True)
class StreamPart:
    """One numbered piece of a run's stream.

    `mode` is LangGraph's (`messages` for `messages-tuple`), or one of ours: `metadata` (run_id, attempt), `house` (never shown to
    clients of the API), `error`, `end`. `json` is the data as it is stored and sent.
    """

    id: PartId
    mode: str
    namespace: tuple[str, ...]
    json: bytes

    @property
    def data(self) -> Any:
        """The data as Python values, parsed anew at each call."""
        return orjson.loads(self.json)
