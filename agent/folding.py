"""Folds a list of middlewares into one, so that a node hook costs no superstep and a wrap layer no trace hop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypeVar, cast, get_type_hints

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
    hook_config,
)
from langchain.agents.middleware.types import OmitFromOutput, PrivateStateAttr
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command
from langsmith import traceable
from langsmith.utils import tracing_is_enabled
from typing_extensions import TypedDict

from agent.folded_state import FoldedState, Update

AnyMiddleware: TypeAlias = AgentMiddleware[Any, Any, Any]
Hook: TypeAlias = Literal["before_agent", "before_model", "after_model", "after_agent"]
ModelHandler: TypeAlias = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
ToolHandler: TypeAlias = Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
Ask: TypeAlias = Callable[[ModelRequest[Any]], Awaitable["_Answer"]]
ResultT = TypeVar("ResultT")

NODE_HOOKS: tuple[Hook, ...] = ("before_agent", "before_model", "after_model", "after_agent")
BACKWARDS: frozenset[Hook] = frozenset({"after_model", "after_agent"})
TURN_BEGUN = "turn_begun"
PENDING_JUMP = "pending_jump"


class FoldState(AgentState[Any]):
    """What a fold itself keeps in the thread."""

    turn_begun: NotRequired[Annotated[bool, OmitFromOutput]]
    """True once the turn's `before_agent` hooks have run and are stored; each turn's input sets it to False."""
    pending_jump: NotRequired[Annotated[str | None, PrivateStateAttr]]
    """A jump that waits until the nodes beside the fold have run."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a layer gave: the model's response, and the state updates of this layer and those inside it."""

    response: ModelResponse[Any]
    updates: tuple[Update, ...] = ()


def fold(middlewares: Sequence[AnyMiddleware], *, returns_direct: bool = False) -> list[AnyMiddleware]:
    """Give the middlewares to hand to `create_agent` in place of the list.

    The wrap hooks of all run in the order of the list. So do the node hooks of the foldable ones; a middleware that
    does not declare itself `foldable` keeps its node hooks as nodes, which run around the fold. `returns_direct` says
    that some tool ends the run by itself, behind the fold's back. The agent needs at least one tool, or LangGraph
    draws no edge along which to jump to the model.
    """
    besides = [m for m in middlewares if not is_foldable(m) and any(overrides(m, hook) for hook in NODE_HOOKS)]
    ends_elsewhere = returns_direct or any(overrides(m, hook) for m in besides for hook in BACKWARDS)
    kind = FoldBesideNodes if ends_elsewhere else Fold
    return [kind(middlewares), *(_node_hooks_of(m) for m in besides)]


def steps_per_round(folded: Sequence[AnyMiddleware]) -> int:
    """Count the supersteps from one model call to the next: the model, its tools, and every node between."""
    return 2 + sum(overrides(m, hook) for m in folded for hook in ("before_model", "after_model"))


def is_foldable(middleware: AnyMiddleware) -> bool:
    """Say whether a middleware declares that its node hooks never interrupt."""
    return bool(getattr(type(middleware), "foldable", False))


def overrides(middleware: AnyMiddleware, hook: str) -> bool:
    """Say whether a middleware has this hook, in its sync or its async form."""
    kind = type(middleware)
    return any(getattr(kind, name) is not getattr(AgentMiddleware, name) for name in (hook, f"a{hook}"))


class Fold(AgentMiddleware[Any, Any, Any]):
    """One middleware that behaves as the list it was made of.

    All node hooks run inside the model's step, and their updates are stored with the model's answer: after a crash
    they run again together with it, so every persisted effect stands once.
    """

    def __init__(self, middlewares: Sequence[AnyMiddleware]) -> None:
        super().__init__()
        self.tools = [tool for m in middlewares for tool in getattr(m, "tools", ())]
        self.state_schema = _merged_schema([FoldState, *(m.state_schema for m in middlewares)])
        self._channels = StateGraph(self.state_schema).channels
        foldable = [m for m in middlewares if is_foldable(m)]
        self._hooks: dict[Hook, list[AnyMiddleware]] = {
            hook: _in_hook_order(hook, [m for m in foldable if overrides(m, hook)]) for hook in NODE_HOOKS
        }
        self._model_layers = [m for m in middlewares if overrides(m, "wrap_model_call")]
        self._tool_layers = [m for m in middlewares if overrides(m, "wrap_tool_call")]

    @property
    def name(self) -> str:
        """One name for both kinds, so that a thread's nodes keep theirs when a node appears beside."""
        return "Fold"

    async def awrap_model_call(self, request: ModelRequest[Any], handler: ModelHandler) -> ExtendedModelResponse[Any]:
        """Run one round: the hooks before, the layers around the model, the hooks after."""
        state = FoldedState(self._channels, {**request.state, "messages": request.messages})
        structured: Any = None
        if (jump := await self._before(state, request.runtime)) is None:
            structured = await self._ask(state, request, handler)
            jump = await self._run("after_model", state, request.runtime) or state.jump
        if jump == "end" or (jump is None and (structured is not None or not _calls_tools(state))):
            jump = await self._finish(state, request.runtime) or jump
        updates = [*state.updates(), *self._direct(jump)]
        response = ModelResponse(result=state.new_messages(), structured_response=structured)
        return ExtendedModelResponse(response, Command(update=updates) if updates else None)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolMessage | Command[Any]:
        """Run one tool call through the layers, the first one outermost."""
        for middleware in reversed(self._tool_layers):
            handler = _tool_layer(middleware, handler)
        return await handler(request)

    async def _before(self, state: FoldedState, runtime: Runtime[Any]) -> str | None:
        if not state.values.get(TURN_BEGUN):
            jump = await self._run("before_agent", state, runtime)
            state.apply([(TURN_BEGUN, True)])
            if jump not in {None, "model"}:
                return jump
        return await self._run("before_model", state, runtime)

    async def _ask(self, state: FoldedState, request: ModelRequest[Any], handler: ModelHandler) -> Any:
        async def innermost(request: ModelRequest[Any]) -> _Answer:
            return _Answer(await handler(request))

        ask: Ask = innermost
        for middleware in reversed(self._model_layers):
            ask = _model_layer(middleware, ask)
        shown = request.override(state=cast("Any", state.values), messages=state.values["messages"])
        answer = await ask(shown)
        state.apply([("messages", answer.response.result), *answer.updates])
        return answer.response.structured_response

    async def _run(self, hook: Hook, state: FoldedState, runtime: Runtime[Any]) -> str | None:
        """Run one kind of hook; give the direction of the first that jumps."""
        with _unstreamed():
            for middleware in self._hooks[hook]:
                update = await _call_hook(middleware, hook, state.values, runtime)
                jump = update.pop("jump_to", None)
                state.apply(update.items())
                if jump in _allowed_jumps(middleware, hook):
                    return cast("str", jump)
        return None

    async def _finish(self, state: FoldedState, runtime: Runtime[Any]) -> str | None:
        jump = await self._run("after_agent", state, runtime)
        state.apply([(TURN_BEGUN, False)] if jump in {None, "end"} else [])
        return jump

    def _direct(self, jump: str | None) -> list[Update]:
        return [] if jump is None else [("jump_to", jump)]


class FoldBesideNodes(Fold):
    """A fold next to real nodes: it ends the round and the run in nodes of its own, the last to run.

    LangGraph forgets a jump when another node runs after it, and only a node sees an end decided elsewhere.
    """

    async def _finish(self, state: FoldedState, runtime: Runtime[Any]) -> str | None:
        return None

    def _direct(self, jump: str | None) -> list[Update]:
        return [(PENDING_JUMP, jump)]

    @hook_config(can_jump_to=["end", "model", "tools"])
    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Take the jump that a hook of this round asked for."""
        return {"jump_to": state.get(PENDING_JUMP)}

    @hook_config(can_jump_to=["end", "model", "tools"])
    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> Any:
        """Run the hooks that end the turn."""
        folded = FoldedState(self._channels, state)
        jump = await super()._finish(folded, runtime)
        updates = [*folded.updates(), ("jump_to", None if jump == "end" else jump)]
        return Command(update=[("messages", folded.new_messages()), *updates])


def _in_hook_order(hook: Hook, middlewares: list[AnyMiddleware]) -> list[AnyMiddleware]:
    return middlewares[::-1] if hook in BACKWARDS else middlewares


def _merged_schema(schemas: Sequence[type]) -> type:
    hints: dict[str, Any] = {}
    for schema in schemas:
        hints |= get_type_hints(schema, include_extras=True)
    functional_form: Any = TypedDict  # the keys are known late
    return cast("type", functional_form("FoldedThreadState", hints))


def _calls_tools(state: FoldedState) -> bool:
    """Say whether the newest assistant message asks for a tool, as create_agent's edge decides it."""
    messages: list[AnyMessage] = state.values["messages"]
    newest = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    return newest is not None and bool(newest.tool_calls)


def _allowed_jumps(middleware: AnyMiddleware, hook: Hook) -> list[str]:
    methods = (getattr(type(middleware), name) for name in (hook, f"a{hook}"))
    return [jump for method in methods for jump in getattr(method, "__can_jump_to__", ())]


async def _call_hook(
    middleware: AnyMiddleware, hook: Hook, values: Mapping[str, Any], runtime: Runtime[Any]
) -> dict[str, Any]:
    name = f"a{hook}"
    method = getattr(middleware, name)
    if getattr(type(middleware), name) is getattr(AgentMiddleware, name):
        update = await _in_span(middleware, hook, _off_the_loop(getattr(middleware, hook)), values, runtime)
    else:
        update = await _in_span(middleware, hook, method, values, runtime)
    return dict(update or {})


def _off_the_loop(method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def call(values: Mapping[str, Any], runtime: Runtime[Any]) -> Any:
        return await asyncio.to_thread(method, values, runtime)

    return call


def _model_layer(middleware: AnyMiddleware, inner: Ask) -> Ask:
    async def ask(request: ModelRequest[Any]) -> _Answer:
        inside: tuple[Update, ...] = ()

        async def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
            nonlocal inside
            answer = await inner(request)
            inside = answer.updates
            return answer.response

        given = await _in_span(middleware, "wrap_model_call", middleware.awrap_model_call, request, handler)
        return _as_answer(given, inside)

    return ask


def _as_answer(given: Any, inside: tuple[Update, ...]) -> _Answer:
    if isinstance(given, AIMessage):
        return _Answer(ModelResponse(result=[given]), inside)
    if isinstance(given, ExtendedModelResponse):
        update = given.command.update if given.command is not None else None
        pairs = update.items() if isinstance(update, Mapping) else update or ()
        return _Answer(given.model_response, (*inside, *pairs))
    return _Answer(given, inside)


def _tool_layer(middleware: AnyMiddleware, inner: ToolHandler) -> ToolHandler:
    async def call(request: ToolCallRequest) -> ToolMessage | Command[Any]:
        return await _in_span(middleware, "wrap_tool_call", middleware.awrap_tool_call, request, inner)

    return call


async def _in_span(
    middleware: AnyMiddleware, hook: str, method: Callable[..., Awaitable[ResultT]], *args: Any
) -> ResultT:
    """Call a hook, as a span of its own while LangSmith traces."""
    if not tracing_is_enabled():
        return await method(*args)

    async def span() -> ResultT:
        return await method(*args)

    return await traceable(name=f"{middleware.name}.{hook}")(span)()


@contextmanager
def _unstreamed() -> Iterator[None]:
    """Keep the tokens of models called inside a hook from the reader: hooks share the model node's stream."""
    config = ensure_config()
    config["tags"] = [*config["tags"], TAG_NOSTREAM]
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _node_hooks_of(middleware: AnyMiddleware) -> AnyMiddleware:
    """Give a middleware that has only the node hooks of another; its wrap hooks run inside the fold."""
    names = [name for hook in NODE_HOOKS for name in (hook, f"a{hook}")]
    kind = type(middleware)
    kept = [name for name in names if getattr(kind, name) is not getattr(AgentMiddleware, name)]
    body: dict[str, Any] = {name: getattr(kind, name) for name in kept}
    body |= {"name": middleware.name, "state_schema": middleware.state_schema, "trace_policy": middleware.trace_policy}
    nodes = cast("AnyMiddleware", type(f"{kind.__name__}Nodes", (AgentMiddleware,), body)())
    for name in kept:
        setattr(nodes, name, getattr(middleware, name))
    return nodes
