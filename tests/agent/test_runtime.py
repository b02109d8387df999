"""AgentRuntime, as the house calls it, on either database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

from agent import (
    AgentRuntime,
    Continuation,
    LeaseLost,
    RunContext,
    RunRequest,
    StepLimitReached,
    UnknownAssistant,
    UnknownCheckpoint,
)
from tests.agent.pairing import check_strict_pairing
from tests.agent.scripted import Hangs, calls, scripted_config, texts

THREAD = "thread-1"


def request(run_id: str, text: str | None, fence: int = 1, **options: Any) -> RunRequest:
    given = None if text is None else {"messages": [HumanMessage(text)]}
    return RunRequest(RunContext(THREAD, run_id), fence, input=given, **options)


async def run(runtime: AgentRuntime, asked: RunRequest, modes: Sequence[str] = ("updates",)) -> list[dict[str, Any]]:
    return [part async for part in runtime.stream(asked, modes=modes)]


async def run_and(runtime: AgentRuntime, asked: RunRequest, react: Callable[[], Any], **options: Any) -> None:
    """Run, and react to the model's step."""
    async for part in runtime.stream(asked, modes=["updates"], **options):
        if "model" in part["data"] and (reaction := react()) is not None:
            await reaction


async def messages_of(runtime: AgentRuntime) -> list[BaseMessage]:
    return (await runtime.get_state(THREAD)).values["messages"]


async def test_a_turn_streams_its_text_and_is_stored(tmp_path: Path, database_url: str | None) -> None:
    config, _ = scripted_config("turn", AIMessage("Hello dear reader"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=database_url) as runtime:
        parts = await run(runtime, request("run-1", "hi"), ["messages", "updates"])

        streamed = [p["data"][0] for p in parts if p["type"] == "messages"]
        assert "".join(texts([m for m in streamed if isinstance(m, AIMessageChunk)])) == "Hello dear reader"
        assert texts(await messages_of(runtime)) == ["hi", "Hello dear reader"]
        assert await runtime.continuation(THREAD, "run-1") is Continuation.FINISHED
        assert await runtime.continuation(THREAD, "run-2") is Continuation.FRESH


async def test_the_thread_is_there_again_after_a_restart(tmp_path: Path, database_url: str | None) -> None:
    config, model = scripted_config("restart", AIMessage("one"), AIMessage("two"))
    for number in (1, 2):
        async with AgentRuntime.open(config, home=tmp_path, database_url=database_url) as runtime:
            await run(runtime, request(f"run-{number}", f"question {number}", fence=number))

    assert texts(model.asked[1], lambda m: m.type != "system")[-3:] == ["question 1", "one", "question 2"]


async def test_two_processes_share_one_file(tmp_path: Path) -> None:
    config, _ = scripted_config("shared", AIMessage("one"), AIMessage("two"))
    async with (
        AgentRuntime.open(config, home=tmp_path, database_url=None) as one,
        AgentRuntime.open(config, home=tmp_path, database_url=None) as two,
    ):
        await run(one, request("run-1", "first", fence=1))
        await run(two, request("run-2", "second", fence=2))

        assert texts(await messages_of(one)) == ["first", "one", "second", "two"]


async def test_a_cancelled_run_leaves_a_thread_the_next_turn_builds_on(
    tmp_path: Path, database_url: str | None
) -> None:
    config, model = scripted_config(
        "cancel", calls("ls", path="/mnt/user-data/outputs"), Hangs("half a"), AIMessage("ok")
    )
    async with AgentRuntime.open(config, home=tmp_path, database_url=database_url) as runtime:
        reading = asyncio.create_task(run(runtime, request("run-1", "go"), ["messages"]))
        await model.was_asked(2)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

        assert await runtime.continuation(THREAD, "run-1") is Continuation.UNFINISHED
        await run(runtime, request("run-2", "and now?", fence=2))
        check_strict_pairing(model.asked[-1])
        assert texts(await messages_of(runtime))[-2:] == ["and now?", "ok"]


async def test_a_run_cancelled_while_its_tool_works_shows_no_dangling_call(tmp_path: Path) -> None:
    config, model = scripted_config("dangling", calls("ls", path="/mnt/user-data/outputs"), AIMessage("ok"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=None) as runtime:
        reading = runtime.stream(request("run-1", "go"), modes=["updates"])
        assert "model" in (await anext(reading))["data"]
        await reading.aclose()

        await run(runtime, request("run-2", "and now?", fence=2))
        check_strict_pairing(model.asked[-1])


async def test_an_unfinished_run_goes_on_from_its_last_finished_step(tmp_path: Path, database_url: str | None) -> None:
    config, model = scripted_config(
        "goes-on", calls("ls", path="/mnt/user-data/outputs"), Hangs("half"), AIMessage("done")
    )
    async with AgentRuntime.open(config, home=tmp_path, database_url=database_url) as runtime:
        reading = asyncio.create_task(run(runtime, request("run-1", "go")))
        await model.was_asked(2)
        reading.cancel()
        await asyncio.wait([reading])

        await run(runtime, request("run-1", None, fence=2))
        stored = await messages_of(runtime)
        assert [m.type for m in stored] == ["human", "ai", "tool", "ai"]
        assert await runtime.continuation(THREAD, "run-1") is Continuation.FINISHED


async def test_a_drained_run_stops_between_steps_and_goes_on(tmp_path: Path) -> None:
    config, _ = scripted_config("drain", calls("ls", path="/mnt/user-data/outputs"), AIMessage("done"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=None) as runtime:
        control = RunControl()
        with pytest.raises(GraphDrained):
            await run_and(runtime, request("run-1", "go"), lambda: control.request_drain("deploy"), control=control)

        assert await runtime.continuation(THREAD, "run-1") is Continuation.UNFINISHED
        await run(runtime, request("run-1", None))
        assert texts(await messages_of(runtime))[-1] == "done"


async def test_a_claimed_thread_refuses_the_older_run_at_once(tmp_path: Path, database_url: str | None) -> None:
    config, model = scripted_config("lease", calls("ls", path="/mnt/user-data/outputs"), Hangs("never"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=database_url) as runtime:
        with pytest.raises(LeaseLost):
            await run_and(runtime, request("run-1", "go", fence=1), lambda: runtime.claim(THREAD, 2))

        with pytest.raises(LeaseLost):
            await runtime.claim(THREAD, 1)
        assert [m.type for m in await messages_of(runtime)] in (["human"], ["human", "ai"])
        assert len(model.asked) <= 2


async def test_a_deleted_thread_takes_its_writer_with_it(tmp_path: Path, database_url: str | None) -> None:
    config, _ = scripted_config("deleted", calls("ls", path="/mnt/user-data/outputs"), Hangs("never"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=database_url) as runtime:
        await runtime.paths.create(THREAD)
        with pytest.raises(LeaseLost):
            await run_and(runtime, request("run-1", "go"), lambda: runtime.delete_thread(THREAD))

        assert await runtime.newest_checkpoint(THREAD) is None
        assert not runtime.paths.root(THREAD).exists()


async def test_only_the_last_turns_are_kept(tmp_path: Path, database_url: str | None) -> None:
    config, _ = scripted_config("kept", calls("ls", path="/mnt/user-data/outputs"), AIMessage("answer"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=database_url) as runtime:
        for number in range(1, 5):
            await run(runtime, request(f"run-{number}", "question", fence=number))
            await runtime.finish_turn(THREAD, fence=number)

        kept = await runtime.get_history(THREAD)
        assert [state.metadata["run_id"] for state in kept] == ["run-4", "run-3"]
        assert await runtime.get_history(THREAD, metadata={"run_id": "run-3"}) == kept[1:]


async def test_rolling_back_forgets_the_last_turn(tmp_path: Path, database_url: str | None) -> None:
    config, _ = scripted_config("rollback", AIMessage("one"), AIMessage("two"), AIMessage("three"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=database_url) as runtime:
        await run(runtime, request("run-1", "first", fence=1))
        before = await runtime.newest_checkpoint(THREAD)
        await run(runtime, request("run-2", "second", fence=2))

        await runtime.rollback(THREAD, before, fence=3)
        assert await runtime.newest_checkpoint(THREAD) == before
        await run(runtime, request("run-3", "again", fence=3))
        assert texts(await messages_of(runtime)) == ["first", "one", "again", "three"]

        with pytest.raises(UnknownCheckpoint):
            await runtime.rollback(THREAD, "never", fence=3)
        await runtime.rollback(THREAD, None, fence=3)
        assert await runtime.newest_checkpoint(THREAD) is None


async def test_state_can_be_written_as_a_node_would(tmp_path: Path, database_url: str | None) -> None:
    config, _ = scripted_config("update", AIMessage("one"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=database_url) as runtime:
        await run(runtime, request("run-1", "first"))
        written = await runtime.update_state(THREAD, {"title": "Renamed"}, fence=2)

        assert written == await runtime.newest_checkpoint(THREAD)
        assert (await runtime.get_state(THREAD)).values["title"] == "Renamed"


async def test_too_many_steps_end_as_an_error_that_says_so(tmp_path: Path) -> None:
    config, model = scripted_config("loop", calls("ls", path="/mnt/user-data/outputs"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=None) as runtime:
        with pytest.raises(StepLimitReached) as stopped:
            await run(runtime, request("run-1", "go", config={"recursion_limit": 10}))

    assert stopped.value.user_message
    assert len(model.asked) == 5


async def test_a_run_chooses_its_model_and_an_unknown_assistant_is_refused(tmp_path: Path) -> None:
    one, _ = scripted_config("model-one", AIMessage("one"))
    two, second = scripted_config("model-two", AIMessage("two"))
    config = one.model_copy(update={"models": [*one.models, *two.models]})
    async with AgentRuntime.open(config, home=tmp_path, database_url=None) as runtime:
        chosen = RunRequest(
            RunContext(THREAD, "run-1", model_name="model-two"), 1, input={"messages": [("user", "hi")]}
        )
        await run(runtime, chosen)

        assert len(second.asked) == 1
        with pytest.raises(UnknownAssistant):
            await run(runtime, request("run-2", "hi", assistant_id="nobody"))
        assert {node["id"] for node in runtime.graph_json()["nodes"]} >= {"model", "tools"}
        assert "messages" in runtime.schemas()["input_schema"]["properties"]


async def test_a_file_is_written_and_presented(tmp_path: Path) -> None:
    path = "/mnt/user-data/outputs/report.md"
    config, _ = scripted_config(
        "files",
        calls("write_file", path=path, content="text"),
        calls("present_files", filepaths=[path]),
        AIMessage("done"),
    )
    async with AgentRuntime.open(config, home=tmp_path, database_url=None) as runtime:
        await run(runtime, request("run-1", "write"))

        state = (await runtime.get_state(THREAD)).values
        presented = [m for m in state["messages"] if isinstance(m, ToolMessage) and m.name == "present_files"]
        assert state["artifacts"] == [path]
        assert presented[0].artifact == {"presented_files": [path]}
        assert runtime.paths.resolve(THREAD, path).read_text() == "text"
