"""AgentRuntime: opens and closes what outlives a run, and runs the graphs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError
from langgraph.runtime import RunControl
from langgraph.types import StateSnapshot

from agent.config import AgentConfig
from agent.context import RunOptions
from agent.errors import CheckpointNotStored, LeaseLost, StepLimitReached, UnknownAssistant, UnknownCheckpoint
from agent.factory import AgentGraph, BuiltGraph, GraphFactory
from agent.folding import TURN_BEGUN
from agent.models import ModelInfo, choose_model
from agent.paths import ThreadPaths
from agent.runs import LEAD_AGENT, AssistantInfo, Continuation, RunRequest, continuation_from
from agent.sandbox import SandboxProvider, open_sandbox_provider
from agent.savers import CheckpointStore, open_checkpoints
from agent.tracing_hops import run_traced_calls_inline

GraphPart = dict[str, Any]


class AgentRuntime:
    """The agent, as the house sees it. Every method may be called for different threads at the same time.

    At most one run of a thread may be active; its fence keeps a stalled one from writing. `LeaseLost` from any method
    means that another process has claimed the thread.
    """

    def __init__(
        self, config: AgentConfig, paths: ThreadPaths, checkpoints: CheckpointStore, sandboxes: SandboxProvider
    ) -> None:
        self.paths = paths
        self.assistants: Mapping[str, AssistantInfo] = {
            LEAD_AGENT: AssistantInfo(LEAD_AGENT, LEAD_AGENT, "Lead agent", "Answers, works with files, asks back.")
        }
        self.models: Sequence[ModelInfo] = [m.info for m in config.models] or [choose_model(()).info]
        self._config = config
        self._checkpoints = checkpoints
        self._graphs = GraphFactory(config, paths, sandboxes)

    @classmethod
    @asynccontextmanager
    async def open(cls, config: AgentConfig, *, home: Path, database_url: str | None) -> AsyncIterator[AgentRuntime]:
        """Open the checkpoints (`<home>/checkpoints.db`, or the PostgreSQL database) and the sandboxes.

        Raises `ModelNotConfigured` or `ClassNotLoaded` for a default model or a sandbox that cannot be built.
        """
        run_traced_calls_inline()
        paths = ThreadPaths(home)
        async with open_checkpoints(config.checkpoints, home=home, database_url=database_url) as checkpoints:
            sandboxes = open_sandbox_provider(config.sandbox, paths)
            try:
                runtime = cls(config, paths, checkpoints, sandboxes)
                await runtime._graphs.prepared()
                yield runtime
            finally:
                await sandboxes.aclose()

    async def stream(
        self,
        request: RunRequest,
        *,
        modes: Sequence[str],
        subgraphs: bool = False,
        control: RunControl | None = None,
    ) -> AsyncGenerator[GraphPart, None]:
        """Run, and give what LangGraph streams (`astream`, version v2) as it comes.

        Ends by returning; raises `GraphDrained`, an `AgentError` or `CancelledError`. Whatever ends it, every write of
        the run is stored, or refused, before it ends.
        """
        built = await self._built(request.assistant_id, request)
        await self._checkpoints.claim(request.context.thread_id, request.fence)
        watch = _WriteWatch()
        graph = self._bound(built, request.fence, watch)
        parts = graph.astream(
            _input(request),
            self._config_for(request, built),
            context=request.context,
            stream_mode=cast("Any", list(modes)),
            subgraphs=subgraphs,
            durability=request.durability,
            interrupt_before=cast("Any", request.interrupt_before),
            interrupt_after=cast("Any", request.interrupt_after),
            control=control,
            version="v2",
        )
        async with aclosing(cast("AsyncGenerator[GraphPart, None]", parts)) as stream:
            while (part := await watch.next(stream)) is not None:
                yield _shown(part)

    async def claim(self, thread_id: str, fence: int) -> None:
        """Raise the thread's fence, before anything of the run is written; `LeaseLost` if a higher one stands."""
        await self._checkpoints.claim(thread_id, fence)

    async def continuation(self, thread_id: str, run_id: str, assistant_id: str = LEAD_AGENT) -> Continuation:
        """Say how a run that may have begun before a crash is to be gone on with."""
        return continuation_from(await self.get_state(thread_id, assistant_id=assistant_id), run_id)

    async def get_state(
        self,
        thread_id: str,
        *,
        assistant_id: str = LEAD_AGENT,
        checkpoint_id: str | None = None,
        subgraphs: bool = False,
    ) -> StateSnapshot:
        """Give the thread's state, or the one of an older checkpoint."""
        graph = self._bound(await self._built(assistant_id))
        return _without_marks(await graph.aget_state(_place(thread_id, checkpoint_id), subgraphs=subgraphs))

    async def get_history(
        self,
        thread_id: str,
        *,
        assistant_id: str = LEAD_AGENT,
        limit: int = 10,
        before: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[StateSnapshot]:
        """Give the states that are kept, newest first, before the checkpoint `before` and with this metadata."""
        graph = self._bound(await self._built(assistant_id))
        earlier = _place(thread_id, before) if before else None
        states = graph.aget_state_history(
            _place(thread_id), filter=dict(metadata) if metadata else None, before=earlier, limit=limit
        )
        return [_without_marks(state) async for state in states]

    async def update_state(
        self,
        thread_id: str,
        values: Mapping[str, Any] | None,
        *,
        fence: int,
        as_node: str | None = None,
        checkpoint_id: str | None = None,
        assistant_id: str = LEAD_AGENT,
    ) -> str:
        """Write values as a node would have; gives the id of the new checkpoint."""
        await self._checkpoints.claim(thread_id, fence)
        graph = self._bound(await self._built(assistant_id), fence)
        updated = await graph.aupdate_state(_place(thread_id, checkpoint_id), values, as_node=as_node)
        return str(updated["configurable"]["checkpoint_id"])

    async def newest_checkpoint(self, thread_id: str) -> str | None:
        """Give the id of the thread's newest checkpoint, None for a thread that has none."""
        return await self._checkpoints.newest(thread_id)

    async def rollback(self, thread_id: str, checkpoint_id: str | None, *, fence: int) -> None:
        """Forget everything after this checkpoint, with None all of the thread's; `UnknownCheckpoint` if it is gone."""
        await self._checkpoints.claim(thread_id, fence)
        if not await self._checkpoints.rollback(thread_id, checkpoint_id, fence):
            raise UnknownCheckpoint(f"thread {thread_id} has no checkpoint {checkpoint_id}")

    async def finish_turn(self, thread_id: str, *, fence: int) -> None:
        """Forget all but the last turns' states, when a run has ended."""
        await self._checkpoints.prune(thread_id, fence)

    async def delete_thread(self, thread_id: str) -> None:
        """Forget the thread: its checkpoints, its fence and its folder."""
        await self._checkpoints.delete(thread_id)
        await self.paths.delete(thread_id)

    def graph_json(self, assistant_id: str = LEAD_AGENT) -> dict[str, Any]:
        """Draw the assistant's graph as JSON: nodes and edges."""
        return dict(self._default_graph(assistant_id).get_graph().to_json())

    def schemas(self, assistant_id: str = LEAD_AGENT) -> dict[str, Any]:
        """Give the JSON schemas of the assistant's input, output, state, config and context."""
        graph = self._default_graph(assistant_id)
        return {
            "input_schema": graph.get_input_jsonschema(),
            "output_schema": graph.get_output_jsonschema(),
            "state_schema": graph.get_output_jsonschema(),
            "config_schema": {"type": "object", "properties": {"recursion_limit": {"type": "integer", "minimum": 1}}},
            "context_schema": RunOptions.model_json_schema(),
        }

    def _default_graph(self, assistant_id: str) -> AgentGraph:
        self._check_assistant(assistant_id)
        return self._graphs.graph_for().graph

    def _check_assistant(self, assistant_id: str) -> None:
        if assistant_id not in self.assistants:
            raise UnknownAssistant(f"no assistant is called {assistant_id!r}")

    async def _built(self, assistant_id: str, request: RunRequest | None = None) -> BuiltGraph:
        self._check_assistant(assistant_id)
        return await self._graphs.prepared(request.context if request else None)

    def _bound(self, built: BuiltGraph, fence: int | None = None, watch: _WriteWatch | None = None) -> AgentGraph:
        saver = self._checkpoints.saver(fence, watch.refused if watch else None)
        return built.graph.copy(update={"checkpointer": saver})

    def _config_for(self, request: RunRequest, built: BuiltGraph) -> RunnableConfig:
        given, context = request.config, request.context
        asked = given.get("recursion_limit") or self._config.max_recursion_limit
        # A client counts a model call and its tools as two steps; a round here may have more.
        steps = min(asked, self._config.max_recursion_limit) * built.steps_per_round // 2
        place = _place(context.thread_id, request.checkpoint_id)["configurable"]
        return RunnableConfig(
            configurable={**given.get("configurable", {}), **place},
            metadata={**given.get("metadata", {}), "run_id": context.run_id, "assistant_id": request.assistant_id},
            tags=list(given.get("tags") or ()),
            recursion_limit=steps,
        )


def _input(request: RunRequest) -> Any:
    """Give what the graph is fed; the input of a turn says that the turn's first hooks have not run."""
    if request.command is not None:
        return request.command
    return None if request.input is None else {**request.input, TURN_BEGUN: False}


def _shown(part: GraphPart) -> GraphPart:
    """The part without the folding's own mark, which is nobody else's business."""
    data = part["data"]
    if part["type"] == "values":
        return {**part, "data": _unmarked(data)}
    if part["type"] == "updates" and isinstance(data, Mapping):
        return {**part, "data": {node: _unmarked(change) for node, change in data.items()}}
    return part


def _unmarked(values: Any) -> Any:
    if isinstance(values, Mapping) and TURN_BEGUN in values:
        return {key: value for key, value in values.items() if key != TURN_BEGUN}
    return values


def _without_marks(state: StateSnapshot) -> StateSnapshot:
    return state._replace(values=_unmarked(state.values))


def _place(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    chosen = {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **chosen}}


class _WriteWatch:
    """Ends a run as soon as one of its writes is refused, and turns LangGraph's ends into ours.

    LangGraph stores in the background and would notice only at the end of the run. The reader is interrupted only
    while it waits for the graph, never in its own work between two parts.
    """

    def __init__(self) -> None:
        self._waiting: asyncio.Task[Any] | None = None
        self._refused: LeaseLost | CheckpointNotStored | None = None

    def refused(self, error: LeaseLost | CheckpointNotStored) -> None:
        """Stop the run; called on the event loop by its saver."""
        if self._refused is None:
            self._refused = error
            if self._waiting is not None:
                self._waiting.cancel()

    async def next(self, stream: AsyncIterator[GraphPart]) -> GraphPart | None:
        """Give the next part, None at the end."""
        if (refusal := self._refusal()) is not None:
            raise refusal
        self._waiting = task = asyncio.current_task()
        try:
            return await anext(stream, None)
        except asyncio.CancelledError as cancelled:
            await _settle(cancelled)
            refusal = self._refusal()
            if refusal is not None and task is not None and task.uncancel() == 0:
                raise refusal from cancelled
            raise
        except GraphRecursionError as error:
            told = "I stopped here: this took too many steps."
            raise StepLimitReached("the run took every step it was allowed", user_message=told) from error
        finally:
            self._waiting = None

    def _refusal(self) -> LeaseLost | CheckpointNotStored | None:
        return self._refused


async def _settle(error: asyncio.CancelledError) -> None:
    """Wait for the writes LangGraph still had to finish when it was cancelled a second time."""
    for rest in error.args:
        if isinstance(rest, asyncio.Task):
            await asyncio.wait([rest])
