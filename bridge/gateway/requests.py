"""What clients may send: one model per body or query."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from langchain_core.messages import convert_to_messages
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from bridge.runs.records import CancelAction, MultitaskStrategy, NewRun, RunSpec, RunStatus, StreamMode

_OWNERS = frozenset({"user_id", "owner_id"})
_SURROUNDINGS = _OWNERS | {"thread_id", "run_id", "steering"}


def _absent_is_empty(value: object) -> object:
    return {} if value is None else value


def _one_is_a_list(value: object) -> object:
    """A query without a mode arrives as an empty one."""
    return ([value] if value else []) if isinstance(value, str) else value


def _without_owners(values: dict[str, Any]) -> dict[str, Any]:
    """Whose a thread or run is, is for the server to say."""
    return {key: value for key, value in values.items() if key not in _OWNERS}


def _without_surroundings(values: dict[str, Any]) -> dict[str, Any]:
    """So is who asks, and where; names with two underscores are LangGraph's own."""
    return {key: value for key, value in values.items() if key not in _SURROUNDINGS and not key.startswith("__")}


Object = Annotated[dict[str, Any], BeforeValidator(_absent_is_empty)]
Metadata = Annotated[Object, AfterValidator(_without_owners)]
Options = Annotated[Object, AfterValidator(_without_surroundings)]
StreamModes = Annotated[tuple[StreamMode, ...], BeforeValidator(_one_is_a_list)]
Nodes = Literal["*"] | tuple[str, ...]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class Body(BaseModel):
    """What all have in common. Fields the SDK sends and this server has no use for are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class CheckpointRef(Body):
    """A checkpoint as LangGraph's clients name it."""

    checkpoint_id: Id | None = None


class ConfigRef(Body):
    """A checkpoint inside a RunnableConfig."""

    configurable: CheckpointRef


CheckpointLike = ConfigRef | CheckpointRef | Id


def _checkpoint_id(reference: CheckpointLike | None) -> str | None:
    if isinstance(reference, ConfigRef):
        return reference.configurable.checkpoint_id
    return reference.checkpoint_id if isinstance(reference, CheckpointRef) else reference


class CreateThread(Body):
    """`POST /threads`."""

    thread_id: Id | None = None
    metadata: Metadata = {}
    if_exists: Literal["raise", "do_nothing"] = "raise"
    supersteps: Annotated[Sequence[Any], Field(max_length=0)] = ()
    """Copying a state into a new thread is not offered."""


class StateAtCheckpoint(Body):
    """`POST /threads/{id}/state/checkpoint`."""

    checkpoint: CheckpointRef
    subgraphs: bool = False


class StateQuery(Body):
    """`GET /threads/{id}/state`."""

    subgraphs: bool = False


class History(Body):
    """`POST` and `GET /threads/{id}/history`."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 10
    before: CheckpointLike | None = None
    metadata: Object = {}

    @property
    def before_id(self) -> str | None:
        """The checkpoint the history begins behind."""
        return _checkpoint_id(self.before)


class ListRuns(Body):
    """`GET /threads/{id}/runs`."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 10
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    status: RunStatus | Literal["timeout"] | None = None
    """`timeout` is a word of the SDK's; no run of ours ends so."""


class CancelRun(Body):
    """`POST /threads/{id}/runs/{id}/cancel`."""

    wait: bool = False
    action: CancelAction = CancelAction.INTERRUPT


class JoinStream(Body):
    """`GET /threads/{id}/runs/{id}/stream`."""

    stream_mode: StreamModes = ()
    cancel_on_disconnect: bool = False


class RunConfig(Body):
    """The parts of a RunnableConfig that a client may choose."""

    configurable: Options = {}
    metadata: Metadata = {}
    tags: tuple[str, ...] = ()
    recursion_limit: int | None = None
    """The agent has a limit of its own, which this one can only lower."""

    @field_validator("configurable")
    @classmethod
    def _without_checkpoint(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in values.items() if not key.startswith("checkpoint_")}

    @field_validator("recursion_limit", mode="before")
    @classmethod
    def _or_the_agents_own(cls, value: object) -> int | None:
        """A client's library fills this in; what makes no sense is not worth refusing a run for."""
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


class RunCommand(BaseModel):
    """LangGraph's `Command`: an answer to an interrupt, a jump, a change of the state."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    resume: Any = None
    goto: Any = None
    update: Any = None


class CreateRun(Body):
    """`POST /threads/{id}/runs`, `…/runs/stream` and `…/runs/wait`."""

    assistant_id: Annotated[str, Field(min_length=1, max_length=200)]
    input: dict[str, Any] | None = None
    command: RunCommand | None = None
    config: Annotated[RunConfig, BeforeValidator(_absent_is_empty)] = RunConfig()
    context: Options = {}
    metadata: Metadata = {}
    stream_mode: StreamModes = ()
    stream_subgraphs: bool = False
    interrupt_before: Nodes | None = None
    interrupt_after: Nodes | None = None
    checkpoint: CheckpointRef | None = None
    checkpoint_id: Id | None = None
    multitask_strategy: MultitaskStrategy = MultitaskStrategy.REJECT
    if_not_exists: Literal["create", "reject"] = "reject"
    on_disconnect: Literal["cancel", "continue"] = "continue"
    durability: Literal["sync", "async", "exit"] = "async"
    webhook: None = None
    """Calling back is not offered; a client that waits for it must be told."""
    after_seconds: Annotated[int, Field(ge=0, le=0)] | None = None
    """Neither are runs that begin later."""

    @field_validator("input")
    @classmethod
    def _readable_messages(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        messages = value.get("messages") if value else None
        for index, message in enumerate(messages if isinstance(messages, list) else ()):
            try:
                convert_to_messages([message])
            except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
                raise ValueError(f"messages[{index}] is not a message") from error
        return value

    @model_validator(mode="after")
    def _input_or_command(self) -> Self:
        if self.input and self._command():
            raise ValueError("input and command cannot be given together")
        return self

    def _command(self) -> dict[str, Any] | None:
        return self.command.model_dump(exclude_unset=True) or None if self.command else None

    def new_run(self, thread_id: str, *, default_modes: Sequence[StreamMode] = ()) -> NewRun:
        """What the RunManager is asked for."""
        spec = RunSpec(
            input=None if self._command() else self.input,
            command=self._command(),
            config=self.config.model_dump(exclude_none=True),
            context=self.context,
            stream_modes=self.stream_mode or default_modes,
            stream_subgraphs=self.stream_subgraphs,
            checkpoint_id=self.checkpoint_id or (self.checkpoint.checkpoint_id if self.checkpoint else None),
            interrupt_before=self.interrupt_before,
            interrupt_after=self.interrupt_after,
            durability=self.durability,
        )
        return NewRun(
            thread_id=thread_id,
            assistant_id=self.assistant_id,
            spec=spec,
            metadata=self.metadata,
            multitask=self.multitask_strategy,
            if_not_exists=self.if_not_exists,
        )
