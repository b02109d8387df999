"""Threads and states in the SDK's form, made from what LangGraph itself gives."""

from datetime import UTC, datetime

import orjson
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from bridge.gateway.responses import state_json, thread_json, visible_values
from bridge.persistence.threads import ThreadRecord, ThreadStatus
from bridge.runs.jsonable import to_json

CONFIG = {"configurable": {"thread_id": "t"}}
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


class Decision(BaseModel):
    ok: bool


@pytest.fixture
async def standing():
    """A graph that stands at a question inside a subgraph."""

    def ask(state):
        return {"messages": [("user", interrupt({"question": "really?"}, response_schema=Decision))]}

    inner = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=True)
    outer = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
    graph = outer.compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"messages": [HumanMessage("hi", id="m1")]}, CONFIG)
    return graph


def as_sent(value):
    return orjson.loads(to_json(value))


async def test_a_state_tells_where_it_stands_and_what_it_asks(standing):
    state = as_sent(state_json("t", await standing.aget_state(CONFIG)))
    assert [message["id"] for message in state["values"]["messages"]] == ["m1"]
    assert state["next"] == ["inner"]
    assert state["checkpoint"]["thread_id"] == "t"
    assert state["checkpoint"]["checkpoint_ns"] == ""
    assert state["parent_checkpoint"]["checkpoint_id"] < state["checkpoint"]["checkpoint_id"]
    assert datetime.fromisoformat(state["created_at"]).tzinfo
    (asked,) = state["interrupts"]
    assert asked["value"] == {"question": "really?"}
    assert asked["id"]
    assert asked["response_schema"]["properties"] == {"ok": {"title": "Ok", "type": "boolean"}}
    (task,) = state["tasks"]
    assert (task["name"], task["error"], task["interrupts"]) == ("inner", None, [asked])
    assert task["checkpoint"]["checkpoint_ns"].startswith("inner")
    assert task["state"] is None


async def test_with_subgraphs_a_task_holds_the_state_inside(standing):
    state = as_sent(state_json("t", await standing.aget_state(CONFIG, subgraphs=True)))
    (task,) = state["tasks"]
    assert task["checkpoint"] is None
    assert task["state"]["next"] == ["ask"]
    assert task["state"]["checkpoint"]["checkpoint_ns"].startswith("inner")


async def test_a_thread_shows_its_open_questions_by_task(standing):
    record = ThreadRecord("t", "lead_agent", "default", None, ThreadStatus.INTERRUPTED, {"a": 1}, NOW, NOW)
    state = await standing.aget_state(CONFIG)
    thread = as_sent(thread_json(record, state))
    assert thread["status"] == "interrupted"
    assert thread["created_at"] == "2026-12-01T12:00:00+00:00"
    assert list(thread["interrupts"]) == [state.tasks[0].id]
    assert thread["interrupts"][state.tasks[0].id][0]["value"] == {"question": "really?"}


async def test_a_failed_task_says_why():
    def fail(state):
        raise ValueError("no luck")

    graph = (
        StateGraph(MessagesState).add_node("fail", fail).add_edge(START, "fail").compile(checkpointer=InMemorySaver())
    )
    with pytest.raises(ValueError, match="no luck"):
        await graph.ainvoke({"messages": []}, CONFIG)
    (task,) = as_sent(state_json("t", await graph.aget_state(CONFIG)))["tasks"]
    assert "no luck" in task["error"]


def test_what_langgraph_keeps_for_itself_is_not_shown():
    assert visible_values({"messages": [], "__pregel_tasks": 1, "__interrupt__": []}) == {
        "messages": [],
        "__interrupt__": [],
    }
