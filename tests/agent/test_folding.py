"""A folded list behaves as the list it was made of."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NotRequired

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, hook_config
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Overwrite, interrupt
from langsmith import Client
from langsmith.run_helpers import tracing_context

from agent.clarification import ClarificationMiddleware, clarification_tool
from agent.context import RunContext
from agent.folding import AnyMiddleware, Fold, fold, steps_per_round
from agent.middleware.bookkeeping.steering import SteeringMiddleware
from agent.middleware.bookkeeping.thread_data import ThreadDataMiddleware
from agent.middleware.bookkeeping.title import TitleMiddleware
from agent.middleware.bookkeeping.uploads import UploadsMiddleware
from agent.middleware.config import LlmCallConfig, TitleConfig
from agent.middleware.history.dangling_tool_call import DanglingToolCallMiddleware
from agent.middleware.model_calls.llm_error_handling import LLMErrorHandlingMiddleware
from agent.middleware.prompt.dynamic_context import DynamicContextMiddleware
from agent.middleware.tool_calls.tool_error_handling import ToolErrorHandlingMiddleware
from agent.paths import ThreadPaths
from tests.agent.scripted import ScriptedModel, Step, calls

FORMS: dict[str, Callable[[Sequence[AnyMiddleware]], list[AnyMiddleware]]] = {"plain": list, "folded": fold}


@tool
async def look() -> str:
    """Look."""
    return "seen"


@tool
async def fail() -> str:
    """Fail."""
    raise ValueError("secret")


@tool(return_direct=True)
async def finish() -> str:
    """Finish."""
    return "finished"


class Log(AgentState[Any]):
    log: NotRequired[Annotated[list[str], operator.add]]
    last: NotRequired[str]


class Logging(AgentMiddleware[Any, Any, Any]):
    """Writes each hook it goes through into the state."""

    state_schema = Log
    foldable = True

    def __init__(self, label: str = "A", jumps: str = "", to: str = "end") -> None:
        super().__init__()
        self.label = label
        self.jumps = jumps
        self.to = to

    @property
    def name(self) -> str:
        return f"Logging{self.label}"

    def _log(self, hook: str, state: Any) -> dict[str, Any]:
        seen = f"{self.label}.{hook}:{len(state['messages'])}:{state.get('last')}"
        update: dict[str, Any] = {"log": [seen], "last": f"{self.label}.{hook}"}
        jumped = any(f"{self.label}.{hook}" in entry for entry in state.get("log", []))
        return {**update, "jump_to": self.to} if self.jumps == hook and not jumped else update

    @hook_config(can_jump_to=["end", "model", "tools"])
    async def abefore_agent(self, state: Any, runtime: Any) -> Any:
        return self._log("before_agent", state)

    @hook_config(can_jump_to=["end", "model", "tools"])
    async def abefore_model(self, state: Any, runtime: Any) -> Any:
        return self._log("before_model", state)

    @hook_config(can_jump_to=["end", "model", "tools"])
    async def aafter_model(self, state: Any, runtime: Any) -> Any:
        return self._log("after_model", state)

    @hook_config(can_jump_to=["end", "model", "tools"])
    async def aafter_agent(self, state: Any, runtime: Any) -> Any:
        return self._log("after_agent", state)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        response = await handler(request)
        return ExtendedModelResponse(
            response, Command(update={"log": [f"{self.label}.wrap:{request.state.get('last')}"]})
        )


class History(AgentMiddleware[Any, Any, Any]):
    """Rewrites the history before the call and adds to it after."""

    state_schema = Log
    foldable = True

    async def abefore_model(self, state: Any, runtime: Any) -> Any:
        last = state["messages"][-1]
        kept = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("summary", id="summary"), last]
        return {"messages": kept, "log": Overwrite(["fresh"])}

    async def aafter_model(self, state: Any, runtime: Any) -> Any:
        return {"messages": HumanMessage("noted", id=f"noted-{len(state['messages'])}"), "log": ["after"]}


class Twice(AgentMiddleware[Any, Any, Any]):
    """Calls the model twice and keeps the second answer; what layers inside updated the first time is void."""

    foldable = True

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        await handler(request)
        return await handler(request)


class SyncHook(AgentMiddleware[Any, Any, Any]):
    """A hook that blocks: a fold takes it off the event loop."""

    state_schema = Log
    foldable = True

    def before_model(self, state: Any, runtime: Any) -> Any:
        return {"log": ["sync"]}


def answers() -> list[Step]:
    return [calls("look", "look:second"), calls("fail"), AIMessage("done")]


class Answered:
    async def take(self) -> Sequence[HumanMessage]:
        return [HumanMessage("meanwhile", id="steer")]


def ours(home: Path) -> dict[str, AnyMiddleware]:
    """Every middleware of ours, alone."""
    paths = ThreadPaths(home)
    return {
        "thread data": ThreadDataMiddleware(),
        "uploads": UploadsMiddleware(paths),
        "dangling": DanglingToolCallMiddleware(),
        "llm errors": LLMErrorHandlingMiddleware(LlmCallConfig(retry_base_delay_ms=0, retry_cap_delay_ms=0)),
        "tool errors": ToolErrorHandlingMiddleware(),
        "date": DynamicContextMiddleware(),
        "steering": SteeringMiddleware(paths),
        "title": TitleMiddleware(TitleConfig()),
        "clarification": ClarificationMiddleware(),
    }


async def final_state(
    middlewares: Sequence[AnyMiddleware], steps: Sequence[Step], tools: Sequence[Any] = (look, fail), turns: int = 2
) -> dict[str, Any]:
    model = ScriptedModel(steps=steps)
    graph = create_agent(
        model,
        [*tools, clarification_tool()],
        middleware=middlewares,
        context_schema=RunContext,
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 60}
    for turn in range(turns):
        files = [{"filename": "data.csv"}]
        asked = HumanMessage(f"question {turn}", id=f"q{turn}", additional_kwargs={"files": files})
        context = RunContext("t", f"run-{turn}", steering=Answered())
        state = await graph.ainvoke({"messages": [asked]}, config, context=context)
    return {key: value for key, value in state.items() if key != "messages"} | {
        "messages": list(map(plain, state["messages"]))
    }


def plain(message: BaseMessage) -> tuple[Any, ...]:
    kwargs = {key: value for key, value in message.additional_kwargs.items() if key != "timestamp"}
    named_calls = [call["name"] for call in getattr(message, "tool_calls", [])]
    artifact = getattr(message, "artifact", None)
    return (message.type, message.content, message.name, named_calls, kwargs, artifact)


@pytest.mark.parametrize("which", list(ours(Path())))
async def test_every_middleware_of_ours_is_the_same_folded_and_not(which: str, tmp_path: Path) -> None:
    uploads = tmp_path / "threads" / "t" / "uploads"
    uploads.mkdir(parents=True)
    (uploads / "data.csv").write_text("a,b")
    steps: list[Step] = [ConnectionError()] if which == "llm errors" else []
    steps += [calls("look", "ask_clarification", question="Which?")] if which == "clarification" else [calls("look")]
    steps += [calls("fail")] if which == "tool errors" else []
    steps += [AIMessage("done")]

    plain_state = await final_state([ours(tmp_path)[which]], steps)
    folded_state = await final_state(fold([ours(tmp_path)[which]]), steps)

    assert folded_state == plain_state
    assert len(plain_state["messages"]) > 2


LISTS: dict[str, Callable[[], list[AnyMiddleware]]] = {
    "two": lambda: [Logging("A"), ToolErrorHandlingMiddleware(), Logging("B")],
    "history": lambda: [History(), ToolErrorHandlingMiddleware(), Logging("B")],
    "twice": lambda: [Twice(), Logging("B"), ToolErrorHandlingMiddleware()],
    "sync": lambda: [SyncHook(), Logging("B"), ToolErrorHandlingMiddleware()],
} | {
    f"{hook} jumps to {to}": lambda hook=hook, to=to: [  # type: ignore[misc]
        Logging("A"), Logging("J", hook, to), Logging("B"), ToolErrorHandlingMiddleware()
    ]
    for hook in ("before_agent", "before_model", "after_model", "after_agent")
    for to in ("end", "model")
    if (hook, to) != ("after_agent", "end")
}  # fmt: skip


@pytest.mark.parametrize("which", LISTS)
async def test_a_list_is_the_same_folded_and_not(which: str) -> None:
    assert await final_state(fold(LISTS[which]()), answers()) == await final_state(LISTS[which](), answers())


@pytest.mark.parametrize("which", ["two", "after_model jumps to end", "before_model jumps to end"])
async def test_a_fold_beside_a_foreign_node_is_the_same_too(which: str) -> None:
    class Foreign(Logging):
        foldable = False

    beside = [Foreign("F"), *LISTS[which]()]
    folded = await final_state(fold(beside), answers(), turns=1)
    unfolded = await final_state(beside, answers(), turns=1)
    # The foreign hooks run around the folded ones: the same entries, in another order.
    names = [
        sorted(entry.split(":")[0] for entry in state["log"] if not entry.startswith("F."))
        for state in (folded, unfolded)
    ]
    assert names[0] == names[1]
    assert folded["messages"] == unfolded["messages"]


async def test_a_clarification_ends_the_run_beside_a_foreign_node() -> None:
    class Foreign(Logging):
        foldable = False

    state = await final_state(
        fold([Foreign("F"), ClarificationMiddleware()]),
        [calls("ask_clarification", question="Which?"), AIMessage("no")],
        turns=1,
    )
    assert [message[0] for message in state["messages"]] == ["human", "ai", "tool"]


async def test_a_tool_that_ends_the_run_still_ends_the_turn() -> None:
    middlewares = [Logging("A")]
    folded = await final_state(fold(middlewares, returns_direct=True), [calls("finish")], tools=(finish,))
    assert folded == await final_state(middlewares, [calls("finish")], tools=(finish,))


async def test_a_middleware_that_interrupts_stays_a_node_and_is_resumed() -> None:
    class Approving(AgentMiddleware[Any, Any, Any]):
        async def aafter_model(self, state: Any, runtime: Any) -> Any:
            if state["messages"][-1].tool_calls:
                return {"log": [interrupt("may I?")]}
            return None

    graph = create_agent(
        ScriptedModel(steps=[calls("look"), AIMessage("done")]), [look],
        middleware=fold([Logging("A"), Approving()]), checkpointer=InMemorySaver(),
    )  # fmt: skip
    config: Any = {"configurable": {"thread_id": "t"}}
    stopped = await graph.ainvoke({"messages": [("user", "go")]}, config)
    assert stopped["__interrupt__"][0].value == "may I?"
    ended = await graph.ainvoke(Command(resume="yes"), config)

    hooks = [entry.split(":")[0] for entry in ended["log"]]
    assert "yes" in hooks
    assert hooks.count("A.before_agent") == hooks.count("A.after_agent") == 1
    assert [m.type for m in ended["messages"]] == ["human", "ai", "tool", "ai"]


async def test_a_turn_costs_one_step_for_each_call_of_the_model_and_its_tools() -> None:
    graph = create_agent(ScriptedModel(steps=answers()), [look, fail], middleware=fold(LISTS["two"]()))
    assert not [node for node in graph.nodes if "Logging" in node]
    assert steps_per_round(fold(LISTS["two"]())) == 2


async def test_tools_of_the_middlewares_stay() -> None:
    class Bringing(AgentMiddleware[Any, Any, Any]):
        foldable = True
        tools = (look,)

    state = await create_agent(
        ScriptedModel(steps=[calls("look"), AIMessage("done")]), middleware=fold([Bringing()])
    ).ainvoke({"messages": [("user", "go")]})
    assert [m.content for m in state["messages"] if isinstance(m, ToolMessage)] == ["seen"]


async def test_a_model_called_inside_a_hook_is_not_streamed_to_the_reader() -> None:
    class Summarising(AgentMiddleware[Any, Any, Any]):
        foldable = True

        async def abefore_model(self, state: Any, runtime: Any) -> Any:
            await ScriptedModel(steps=[AIMessage("inner words")]).ainvoke("summarise")

    graph = create_agent(ScriptedModel(steps=[AIMessage("outer words")]), [look], middleware=fold([Summarising()]))
    parts = [part async for part in graph.astream({"messages": [("user", "go")]}, stream_mode="messages", version="v2")]
    streamed = "".join(str(part["data"][0].content) for part in parts if part["data"][0].type == "AIMessageChunk")
    assert streamed == "outer words"


class Spans(Client):
    """A tracing client that sends nothing and keeps the names of the spans."""

    __slots__ = ("names",)

    def create_run(self, name: str, *args: Any, **kwargs: Any) -> None:
        self.names.append(name)

    def update_run(self, *args: Any, **kwargs: Any) -> None:
        return None


async def test_with_tracing_on_each_concern_is_a_span() -> None:
    spans = Spans(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)
    spans.names = []
    graph = create_agent(
        ScriptedModel(steps=[calls("look"), AIMessage("done")]), [look],
        middleware=fold([Logging("A"), ToolErrorHandlingMiddleware()]),
    )  # fmt: skip
    with tracing_context(enabled=True, client=spans):
        await graph.ainvoke({"messages": [("user", "go")]})

    hooks = ("before_agent", "before_model", "wrap_model_call", "after_model", "after_agent")
    concerns = {f"LoggingA.{hook}" for hook in hooks} | {"ToolErrorHandlingMiddleware.wrap_tool_call"}
    assert concerns <= set(spans.names)


def test_no_list_makes_two_kinds_of_node_names() -> None:
    assert Fold([]).name == fold([Logging("A")], returns_direct=True)[0].name
