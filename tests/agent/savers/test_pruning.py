"""Little is kept, and never less than a resume, a retry or a rollback needs."""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from agent import AgentRuntime, RunContext, RunRequest
from agent.errors import LeaseLost
from agent.savers import CheckpointConfig, CheckpointStore, open_checkpoints
from tests.agent.scripted import Varied, scripted_config

THREAD = "t"
LARGEST_GROWTH_BYTES = 6 * 1024


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


@pytest.fixture
async def store(tmp_path: Path, database_url: str | None) -> AsyncIterator[CheckpointStore]:
    async with open_checkpoints(CheckpointConfig(), home=tmp_path, database_url=database_url) as opened:
        await opened.claim(THREAD, 1)
        yield opened


def place(run_id: str) -> Any:
    return {"configurable": {"thread_id": THREAD}, "metadata": {"run_id": run_id}}


async def kept(store: CheckpointStore, namespace: str | None = "") -> list[Any]:
    config = {"configurable": {"thread_id": THREAD} | ({} if namespace is None else {"checkpoint_ns": namespace})}
    return [found async for found in store.saver().alist(config)]


def three_steps() -> Any:
    graph = StateGraph(Log)
    graph.add_sequence([(name, _logs(name)) for name in ("one", "two", "three")])
    graph.add_edge(START, "one")
    return graph


def _logs(name: str) -> Any:
    async def node(state: Log) -> Any:
        return {"log": [name]}

    return node


async def test_a_running_turn_holds_one_state_and_the_thread_those_of_its_last_turns(store: CheckpointStore) -> None:
    seen: list[int] = []
    graph = three_steps().compile(checkpointer=store.saver(1))
    for number in range(1, 5):
        steps = graph.astream({"log": []}, place(f"run-{number}"), durability="sync")
        seen += [len(await kept(store)) async for _ in steps]
        await store.prune(THREAD, 1)

    assert max(seen) == 3, "the last two turns and the one that runs"
    assert [found.metadata["run_id"] for found in await kept(store)] == ["run-4", "run-3"]
    assert (await graph.aget_state(place("run-4"))).values["log"] == ["one", "two", "three"] * 4


async def test_with_all_every_step_is_kept(tmp_path: Path, database_url: str | None) -> None:
    everything = CheckpointConfig(keep_turns="all")
    async with open_checkpoints(everything, home=tmp_path, database_url=database_url) as store:
        await store.claim(THREAD, 1)
        await three_steps().compile(checkpointer=store.saver(1)).ainvoke({"log": []}, place("run-1"))
        await store.prune(THREAD, 1)
        assert len(await kept(store)) == 5


async def test_the_state_of_a_subgraph_goes_with_the_step_that_called_it(store: CheckpointStore) -> None:
    inner = three_steps().compile()
    outer = StateGraph(Log)
    outer.add_sequence([("first", inner), ("second", inner), ("last", _logs("last"))])
    outer.add_edge(START, "first")
    graph = outer.compile(checkpointer=store.saver(1))
    await graph.ainvoke({"log": []}, place("run-1"))

    assert [found.config["configurable"]["checkpoint_ns"] for found in await kept(store, None)] == [""]
    assert (await graph.aget_state(place("run-1"))).values["log"][-1] == "last"


async def test_an_interrupted_subgraph_is_resumed_from_what_is_kept(store: CheckpointStore) -> None:
    async def ask(state: Log) -> Any:
        return {"log": [interrupt("go on?")]}

    inner = three_steps().add_node("ask", ask).add_edge("three", "ask").compile()
    outer = StateGraph(Log)
    outer.add_sequence([("before", _logs("before")), ("inner", inner), ("after", _logs("after"))])
    outer.add_edge(START, "before")
    graph = outer.compile(checkpointer=store.saver(1))
    await graph.ainvoke({"log": []}, place("run-1"))
    await store.prune(THREAD, 1)
    resumed = await graph.ainvoke(Command(resume="yes"), place("run-2"))

    assert resumed["log"][-2:] == ["yes", "after"]
    assert resumed["log"].count("one") == 1


def two_who_ask(ran: list[str]) -> Any:
    """Side by side: one that finishes, one that asks."""

    async def work(state: Any) -> Any:
        ran.append(state["name"])
        return {"log": [interrupt("go on?") if state["name"] == "asks" else state["name"]]}

    async def split(state: Any) -> Any:
        return Command(goto=[Send("work", {"name": name}) for name in ("works", "asks")])

    graph = StateGraph(Log)
    graph.add_node("split", split, destinations=("work",))
    graph.add_node("work", work)
    return graph.add_edge(START, "split")


async def test_what_a_finished_task_wrote_survives_until_its_step_is_done(store: CheckpointStore) -> None:
    ran: list[str] = []
    graph = two_who_ask(ran).compile(checkpointer=store.saver(1))
    await graph.ainvoke({"log": []}, place("run-1"))
    await store.prune(THREAD, 1)
    ended = await graph.ainvoke(Command(resume="yes"), place("run-2"))

    assert ended["log"] == ["works", "yes"]
    assert ran.count("works") == 1


async def test_rolling_back_a_resumed_run_brings_the_question_back(store: CheckpointStore) -> None:
    ran: list[str] = []
    graph = two_who_ask(ran).compile(checkpointer=store.saver(1))
    await graph.ainvoke({"log": []}, place("run-1"))
    before = await store.newest(THREAD)
    await graph.ainvoke(Command(resume="yes"), place("run-2"))

    assert await store.rollback(THREAD, before, 1)
    state = await graph.aget_state(place("run-1"))
    assert [found.value for found in state.interrupts] == ["go on?"]
    assert (await graph.ainvoke(Command(resume="no"), place("run-3")))["log"] == ["works", "no"]
    assert ran.count("works") == 1


async def test_every_write_compares_the_fence(store: CheckpointStore) -> None:
    graph = three_steps().compile(checkpointer=store.saver(1))
    await graph.ainvoke({"log": []}, place("run-1"))
    newest = (await kept(store))[0]
    await store.claim(THREAD, 2)

    stale = store.saver(1)
    with pytest.raises(LeaseLost):
        await stale.aput(newest.config, newest.checkpoint, {"source": "loop", "step": 9}, {})
    with pytest.raises(LeaseLost):
        await stale.aput_writes(newest.config, [("log", ["late"])], "task")
    with pytest.raises(LeaseLost):
        await stale.adelete_thread(THREAD)
    for late in (store.prune(THREAD, 1), store.rollback(THREAD, None, 1), store.claim(THREAD, 1)):
        with pytest.raises(LeaseLost):
            await late
    assert (await kept(store))[0].checkpoint["id"] == newest.checkpoint["id"]
    assert (await kept(store))[0].pending_writes == newest.pending_writes

    await store.saver(2).adelete_thread(THREAD)
    assert await kept(store) == []
    with pytest.raises(LeaseLost):
        await store.claim(THREAD, 1)


async def test_a_thread_nobody_claimed_takes_no_writes(store: CheckpointStore) -> None:
    graph = three_steps().compile(checkpointer=store.saver(1))
    with pytest.raises(LeaseLost):
        await graph.ainvoke({"log": []}, {"configurable": {"thread_id": "unclaimed"}})


async def test_the_file_grows_by_little_more_than_the_turn_itself(tmp_path: Path) -> None:
    config, _ = scripted_config("growth", Varied(1000))
    sizes: dict[int, int] = {}
    async with AgentRuntime.open(config, home=tmp_path, database_url=None) as runtime:
        for number in range(1, 61):
            asked = {"messages": [HumanMessage(Varied(130).text())]}
            async for _ in runtime.stream(
                RunRequest(RunContext(THREAD, f"run-{number}"), number, input=asked), modes=[]
            ):
                pass
            await runtime.finish_turn(THREAD, fence=number)
            if number in (40, 60):
                sizes[number] = size_after_truncation(tmp_path / "checkpoints.db")

    assert (sizes[60] - sizes[40]) / 20 <= LARGEST_GROWTH_BYTES


def size_after_truncation(file: Path) -> int:
    connection = sqlite3.connect(file, timeout=10)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))
