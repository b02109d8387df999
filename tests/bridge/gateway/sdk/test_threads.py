"""The SDK's threads: create, get, state, history, delete."""

import uuid

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from tests.simulators.model import Gate, Text

pytestmark = pytest.mark.asyncio(loop_scope="module")


def says(text):
    return {"messages": [{"role": "user", "content": text}]}


async def test_a_thread_is_made_found_and_forgotten(client: LangGraphClient):
    made = await client.threads.create(metadata={"source": "test", "user_id": "forged"}, graph_id="lead_agent")
    assert uuid.UUID(made["thread_id"])
    assert made["status"] == "idle"
    assert made["metadata"] == {"source": "test", "graph_id": "lead_agent"}
    found = await client.threads.get(made["thread_id"])
    assert found == made
    await client.threads.delete(made["thread_id"])
    with pytest.raises(NotFoundError):
        await client.threads.get(made["thread_id"])
    with pytest.raises(NotFoundError):
        await client.threads.delete(made["thread_id"])


async def test_a_thread_of_a_given_id_exists_once(client):
    name = f"my-{uuid.uuid4()}"
    first = await client.threads.create(thread_id=name, metadata={"n": 1})
    assert first["thread_id"] == name
    with pytest.raises(ConflictError):
        await client.threads.create(thread_id=name)
    again = await client.threads.create(thread_id=name, if_exists="do_nothing", metadata={"n": 2})
    assert again["metadata"] == {"n": 1}


async def test_an_id_that_is_none_is_refused(client):
    for thread_id in ("../etc", "a/b", "a" * 65, "ü"):
        with pytest.raises(UnprocessableEntityError):
            await client.threads.create(thread_id=thread_id)
        with pytest.raises(UnprocessableEntityError):
            await client.threads.get(thread_id)


async def test_copying_a_state_into_a_new_thread_is_refused_and_not_ignored(client):
    with pytest.raises(UnprocessableEntityError):
        await client.threads.create(supersteps=[{"updates": [{"values": {}, "as_node": "model"}]}])


async def test_the_state_of_a_new_thread_is_empty(client):
    thread = await client.threads.create()
    state = await client.threads.get_state(thread["thread_id"])
    assert state["values"] == {}
    assert state["next"] == []
    assert state["checkpoint"]["thread_id"] == thread["thread_id"]
    assert state["parent_checkpoint"] is None
    assert await client.threads.get_history(thread["thread_id"]) == []


async def test_the_state_holds_what_was_said_and_can_be_read_at_its_checkpoint(client, model):
    thread_id = (await client.threads.create())["thread_id"]
    await model.script(Text("one"))
    await model.script(Text("two"))
    for text in ("first", "second"):
        await client.runs.wait(thread_id, "lead_agent", input=says(text))
    state = await client.threads.get_state(thread_id)
    assert [m["content"] for m in state["values"]["messages"]] == ["first", "one", "second", "two"]
    assert [m["type"] for m in state["values"]["messages"]] == ["human", "ai", "human", "ai"]
    assert (state["next"], state["tasks"], state["interrupts"]) == ([], [], [])
    assert state["checkpoint"]["checkpoint_id"]
    assert (await client.threads.get(thread_id))["values"]["messages"] == state["values"]["messages"]

    history = await client.threads.get_history(thread_id)
    assert history[0]["checkpoint"] == state["checkpoint"]
    earlier = [one for one in history if len(one["values"].get("messages", ())) == 2]
    assert earlier
    checkpoint = earlier[0]["checkpoint"]
    for asked in ({"checkpoint": checkpoint}, {"checkpoint_id": checkpoint["checkpoint_id"]}):
        found = await client.threads.get_state(thread_id, **asked)
        assert [m["content"] for m in found["values"]["messages"]] == ["first", "one"]
    newest = await client.threads.get_state(thread_id, checkpoint={"thread_id": thread_id, "checkpoint_ns": ""})
    assert newest["checkpoint"] == state["checkpoint"]


async def test_a_history_is_limited_and_goes_on_before_a_checkpoint(client, model):
    thread_id = (await client.threads.create())["thread_id"]
    for _ in range(2):
        await client.runs.wait(thread_id, "lead_agent", input=says("hello"))
    whole = await client.threads.get_history(thread_id, limit=100)
    ids = [state["checkpoint"]["checkpoint_id"] for state in whole]
    assert len(ids) >= 2
    assert [s["checkpoint"]["checkpoint_id"] for s in await client.threads.get_history(thread_id, limit=1)] == ids[:1]
    for before in (ids[0], whole[0]["checkpoint"], {"configurable": whole[0]["checkpoint"]}):
        rest = await client.threads.get_history(thread_id, limit=100, before=before)
        assert [state["checkpoint"]["checkpoint_id"] for state in rest] == ids[1:]
    with pytest.raises(UnprocessableEntityError):
        await client.threads.get_history(thread_id, limit=0)


async def test_a_checkpoint_there_never_was_is_not_found(client):
    thread_id = (await client.threads.create())["thread_id"]
    with pytest.raises(NotFoundError):
        await client.threads.get_state(thread_id, checkpoint_id="1ef4a9b8-0000-6000-8000-000000000000")


async def test_a_thread_with_an_active_run_is_busy_and_cannot_be_deleted(client, model):
    thread_id = (await client.threads.create())["thread_id"]
    await model.script(Gate("hold"), Text("done"))
    run = await client.runs.create(thread_id, "lead_agent", input=says("go"))
    await model.gate_reached("hold")
    assert (await client.threads.get(thread_id))["status"] == "busy"
    with pytest.raises(ConflictError):
        await client.threads.delete(thread_id)
    await model.release("hold")
    await client.runs.join(thread_id, run["run_id"])
    assert (await client.threads.get(thread_id))["status"] == "idle"
    await client.threads.delete(thread_id)
    with pytest.raises(NotFoundError):
        await client.runs.get(thread_id, run["run_id"])


async def test_a_deleted_threads_id_can_be_used_anew_and_inherits_nothing(client):
    name = str(uuid.uuid4())
    await client.threads.create(thread_id=name)
    await client.runs.wait(name, "lead_agent", input=says("remember me"))
    await client.threads.delete(name)
    await client.threads.create(thread_id=name)
    assert (await client.threads.get_state(name))["values"] == {}
    assert await client.runs.list(name) == []
