"""The SDK's streams: what they carry, joined late, cut in the middle, and ended by a restart."""

import asyncio
import uuid
from collections import Counter

import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.errors import NotFoundError

from bridge.runs.records import PartId
from tests.bridge.gateway.sdk.conftest import running
from tests.bridge.gateway.sdk.proxy import CuttingProxy
from tests.simulators.model import Gate, HttpError, Text, ToolCall

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENT = "lead_agent"
MODES = ["values", "updates", "messages-tuple", "custom", "debug", "tasks", "checkpoints"]


def says(text):
    return {"messages": [{"role": "user", "content": text}]}


def text_of(parts):
    """The assistant's text as the deltas of a stream give it."""
    chunks = [part.data[0] for part in parts if part.event == "messages"]
    return "".join(chunk["content"] for chunk in chunks if chunk["type"] == "AIMessageChunk")


def ids(parts):
    return [PartId.parse(part.id) for part in parts]


@pytest.fixture
def thread_name():
    return str(uuid.uuid4())


async def test_a_stream_begins_with_metadata_carries_the_modes_asked_for_and_ends(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(ToolCall("ls", {"path": "/mnt/user-data/outputs"}))
    await model.script(Text("an answer of several words", 50))
    created = []
    parts = [
        part
        async for part in client.runs.stream(
            thread_name, AGENT, input=says("look"), stream_mode=MODES, on_run_created=created.append
        )
    ]
    assert parts[0].event == "metadata"
    assert parts[0].data == {"run_id": created[0]["run_id"], "attempt": 1}
    assert parts[-1].event == "end"
    assert {part.event for part in parts} == {
        "metadata", "values", "updates", "messages", "debug", "tasks", "checkpoints", "end",
    }  # fmt: skip
    assert text_of(parts) == "an answer of several words"
    assert ids(parts) == sorted(set(ids(parts)))
    final = [part.data for part in parts if part.event == "values"][-1]
    assert final["messages"][-1]["content"] == "an answer of several words"


@pytest.mark.parametrize(
    ("mode", "event"), [("values", "values"), ("updates", "updates"), ("messages-tuple", "messages")]
)
async def test_a_stream_shows_one_mode_and_no_other(client, thread_name, mode, event):
    await client.threads.create(thread_id=thread_name)
    stream = client.runs.stream(thread_name, AGENT, input=says("hello"), stream_mode=mode)
    assert {part.event async for part in stream} == {"metadata", event, "end"}


async def test_the_second_version_of_the_stream_format_works(client, thread_name):
    await client.threads.create(thread_id=thread_name)
    stream = client.runs.stream(thread_name, AGENT, input=says("hello"), stream_mode="updates", version="v2")
    parts = [part async for part in stream]
    assert [part["type"] for part in parts][:2] == ["metadata", "updates"]


async def test_a_failed_run_says_so_before_the_end(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(HttpError(401, "no"), times=9)
    parts = [part async for part in client.runs.stream(thread_name, AGENT, input=says("hello"))]
    assert [part.event for part in parts][-2:] == ["error", "end"]
    assert parts[-2].data["error"] == "ModelCallFailed"


async def test_a_joiner_sees_the_whole_run_or_what_is_behind_its_last_event(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(Text("first words", 50), Gate("late"), Text(" and the rest", 50))
    run = await client.runs.create(
        thread_name, AGENT, input=says("go"), stream_mode=["messages-tuple", "updates"], stream_resumable=True
    )
    await model.gate_reached("late")
    joined = asyncio.create_task(collect(client.runs.join_stream(thread_name, run["run_id"])))
    only_text = client.runs.join_stream(thread_name, run["run_id"], stream_mode="messages-tuple")
    also = asyncio.create_task(collect(only_text))
    await model.release("late")
    whole = await joined
    assert text_of(whole) == text_of(await also) == "first words and the rest"
    assert {part.event for part in await also} == {"metadata", "messages", "end"}
    for last in (whole[0], whole[len(whole) // 2], whole[-2]):
        rest = await collect(client.runs.join_stream(thread_name, run["run_id"], last_event_id=last.id))
        assert rest == whole[whole.index(last) + 1 :]
    anew = await collect(client.runs.join_stream(thread_name, run["run_id"], last_event_id="1764633600000-0"))
    assert anew == whole


async def test_joining_a_run_there_never_was_fails_at_once(client, thread_name):
    await client.threads.create(thread_id=thread_name)
    with pytest.raises(NotFoundError):
        await collect(client.runs.join_stream(thread_name, str(uuid.uuid4())))


async def test_a_joiner_behind_the_end_is_not_left_hanging(client, thread_name):
    await client.threads.create(thread_id=thread_name)
    whole = await collect(client.runs.stream(thread_name, AGENT, input=says("hello"), stream_mode="updates"))
    run_id = whole[0].data["run_id"]
    async with asyncio.timeout(10):
        rest = await collect(client.runs.join_stream(thread_name, run_id, last_event_id=whole[-1].id))
    assert rest[-1].event == "end"


@pytest.mark.filterwarnings("ignore:Reconnecting")
async def test_a_cut_connection_resumes_without_a_gap_and_without_an_id_twice(program, model, thread_name):
    async with CuttingProxy(program.gateway.port) as proxy, proxy.client() as client:
        await client.threads.create(thread_id=thread_name)
        await model.script(Text("a long answer " * 40, 60))
        proxy.cut_after(bytes_sent=6_000, times=2)
        parts = await collect(
            client.runs.stream(
                thread_name,
                AGENT,
                input=says("go on"),
                stream_mode=["messages-tuple", "updates"],
                stream_resumable=True,
            )
        )
        assert proxy.cuts == 2
    assert parts == await collect(program_stream(program, thread_name, parts[0].data["run_id"]))
    assert ids(parts) == sorted(set(ids(parts)))
    assert text_of(parts).split() == ("a long answer " * 40).split()


@pytest.mark.filterwarnings("ignore:Request failed, attempting reconnect")
async def test_a_cut_wait_is_joined_again(program, model, thread_name):
    async with CuttingProxy(program.gateway.port) as proxy, proxy.client() as client:
        await client.threads.create(thread_id=thread_name)
        await model.script(Gate("cut"), Text("in the end"))
        waiting = asyncio.create_task(client.runs.wait(thread_name, AGENT, input=says("go")))
        await model.gate_reached("cut")
        await proxy.cut_now()
        await model.release("cut")
        values = await waiting
    assert proxy.cuts == 1
    assert values["messages"][-1]["content"] == "in the end"


async def test_several_readers_see_the_same(program, client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(Gate("many"), Text("one two three four", 30))
    run = await client.runs.create(thread_name, AGENT, input=says("go"), stream_mode=["messages-tuple", "values"])
    await model.gate_reached("many")
    readers = [asyncio.create_task(collect(client.runs.join_stream(thread_name, run["run_id"]))) for _ in range(10)]
    await model.release("many")
    first, *others = await asyncio.gather(*readers)
    assert all(other == first for other in others)


async def test_a_reader_that_leaves_cancels_its_run_where_it_asked_for_that(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(Text("begun", 50), Gate("left"), Text("never"))
    stream = client.runs.stream(thread_name, AGENT, input=says("go"), on_disconnect="cancel")
    run_id = (await anext(stream)).data["run_id"]
    await model.gate_reached("left")
    await stream.aclose()
    async with asyncio.timeout(10):
        while (await client.runs.get(thread_name, run_id))["status"] != "interrupted":  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_remote_graph_streams_and_reads_the_state(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(Text("remotely"), times=2)
    graph = RemoteGraph(AGENT, client=client)
    config = {"configurable": {"thread_id": thread_name}}
    found = Counter()
    async for part in graph.astream(says("hello"), config, stream_mode=["values", "messages", "updates"]):
        found[part[0]] += 1
    assert set(found) == {"values", "messages", "updates"}
    values = await graph.ainvoke(says("again"), config)
    assert values["messages"][-1]["content"] == "remotely"
    assert len((await graph.aget_state(config)).values["messages"]) == 4
    assert [state async for state in graph.aget_state_history(config)]


async def collect(stream):
    return [part async for part in stream]


async def program_stream(program, thread_id, run_id):
    async with program.client() as client:
        async for part in client.runs.join_stream(thread_id, run_id):
            yield part


@pytest.mark.filterwarnings("ignore:Reconnecting")
async def test_a_stream_survives_a_restart_of_the_server(tmp_path, model, thread_name):
    async with running(tmp_path, model) as before:
        port = before.gateway.port
        async with before.client() as client:
            await client.threads.create(thread_id=thread_name)
        await model.script(Text("begun", 50), Gate("restart"), Text("never"))
        await model.script(Text("done again in full"))
        client = before.client()
        reading = asyncio.create_task(
            collect(client.runs.stream(thread_name, AGENT, input=says("go"), stream_mode=["messages-tuple", "values"]))
        )
        await model.gate_reached("restart")
    async with running(tmp_path, model, port), client:
        async with asyncio.timeout(30):
            parts = await reading
        assert [part.data["attempt"] for part in parts if part.event == "metadata"] == [1, 2]
        assert ids(parts) == sorted(set(ids(parts)))
        assert parts[-1].event == "end"
        final = [part.data for part in parts if part.event == "values"][-1]
        assert [message["content"] for message in final["messages"]] == ["go", "done again in full"]
