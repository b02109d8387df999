"""The SDK's runs: create, wait, join, list, get, cancel, delete, and several on one thread."""

import asyncio
import uuid

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from tests.simulators.model import Gate, HttpError, Text, ToolCall

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENT = "lead_agent"


def says(text):
    return {"messages": [{"role": "user", "content": text}]}


def texts(values):
    return [message["content"] for message in values["messages"]]


@pytest.fixture
def thread_name():
    return str(uuid.uuid4())


async def held_run(client, model, thread_id, gate, **options):
    """A run that stands in the middle of its answer until the gate is released."""
    await model.script(Text("begun"), Gate(gate), Text(" and done"))
    run = await client.runs.create(thread_id, AGENT, input=says("go"), **options)
    await model.gate_reached(gate)
    return run


async def test_waiting_gives_the_values_and_says_where_the_run_is(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(Text("hello back"))
    created = []
    values = await client.runs.wait(
        thread_name, AGENT, input=says("hello"), metadata={"a": 1}, on_run_created=created.append
    )
    assert texts(values) == ["hello", "hello back"]
    assert created[0]["thread_id"] == thread_name
    run = await client.runs.get(thread_name, created[0]["run_id"])
    assert (run["status"], run["metadata"], run["assistant_id"]) == ("success", {"a": 1}, AGENT)
    assert run["kwargs"]["input"]["messages"][0]["content"] == "hello"


async def test_a_run_in_the_background_is_pending_or_running_and_can_be_joined(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    run = await held_run(client, model, thread_name, "join", config={"configurable": None, "recursion_limit": 50})
    assert run["status"] == "pending"
    assert (await client.runs.get(thread_name, run["run_id"]))["status"] == "running"
    joining = asyncio.create_task(client.runs.join(thread_name, run["run_id"]))
    await asyncio.sleep(0.5)
    assert not joining.done()
    await model.release("join")
    assert texts(await joining) == ["go", "begun and done"]
    assert texts(await client.runs.join(thread_name, run["run_id"])) == ["go", "begun and done"]


async def test_runs_are_listed_newest_first_by_pages_and_by_status(client, thread_name):
    await client.threads.create(thread_id=thread_name)
    ids = []
    for number in range(3):
        run = await client.runs.create(thread_name, AGENT, input=says(str(number)), multitask_strategy="enqueue")
        ids.insert(0, run["run_id"])
    await client.runs.join(thread_name, ids[0])

    async def listed(**query):
        return [run["run_id"] for run in await client.runs.list(thread_name, **query)]

    assert await listed() == ids
    assert await listed(limit=1) == ids[:1]
    assert await listed(limit=2, offset=1) == ids[1:]
    assert await listed(status="success") == ids
    assert await listed(status="error") == await listed(status="timeout") == []


async def test_a_failed_run_is_raised_by_wait_told_by_join_and_marks_its_thread(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(HttpError(401, "Incorrect API key provided: sk-secret"), times=9)
    with pytest.raises(Exception, match="ModelCallFailed") as raised:
        await client.runs.wait(thread_name, AGENT, input=says("hello"))
    assert "sk-secret" not in str(raised.value)
    (run,) = await client.runs.list(thread_name)
    assert run["status"] == "error"
    told = await client.runs.join(thread_name, run["run_id"])
    assert told["__error__"]["error"] == "ModelCallFailed"
    kept = await client.runs.wait(thread_name, AGENT, input=says("hello"), raise_error=False)
    assert set(kept["__error__"]) == {"error", "message"}
    assert (await client.threads.get(thread_name))["status"] == "error"


async def test_a_busy_thread_rejects_unless_told_otherwise(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    run = await held_run(client, model, thread_name, "reject")
    for options in ({}, {"multitask_strategy": "reject"}):
        with pytest.raises(ConflictError, match="already running"):
            await client.runs.create(thread_name, AGENT, input=says("me too"), **options)
    await model.release("reject")
    await client.runs.join(thread_name, run["run_id"])


async def test_an_enqueued_run_waits_its_turn(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    first = await held_run(client, model, thread_name, "enqueue")
    await model.script(Text("second"), match="next")
    waiting = asyncio.create_task(
        client.runs.wait(thread_name, AGENT, input=says("next"), multitask_strategy="enqueue")
    )
    await asyncio.sleep(0.3)
    assert not waiting.done()
    await model.release("enqueue")
    assert texts(await waiting) == ["go", "begun and done", "next", "second"]
    assert (await client.runs.get(thread_name, first["run_id"]))["status"] == "success"


async def test_an_interrupting_run_stops_the_one_before_and_answers(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    first = await held_run(client, model, thread_name, "interrupt")
    await model.script(Text("instead"), match="rather")
    values = await client.runs.wait(thread_name, AGENT, input=says("rather"), multitask_strategy="interrupt")
    assert texts(values)[0] == "go"
    assert texts(values)[-2:] == ["rather", "instead"]
    assert (await client.runs.get(thread_name, first["run_id"]))["status"] == "interrupted"


async def test_a_rolling_back_run_leaves_nothing_of_the_one_before(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(Text("kept"))
    await client.runs.wait(thread_name, AGENT, input=says("before"))
    await held_run(client, model, thread_name, "rollback")
    await model.script(Text("instead"), match="rather")
    values = await client.runs.wait(thread_name, AGENT, input=says("rather"), multitask_strategy="rollback")
    assert texts(values) == ["before", "kept", "rather", "instead"]


@pytest.mark.parametrize("wait", [True, False])
async def test_a_cancelled_run_is_interrupted_and_cancelling_again_is_no_error(client, model, thread_name, wait):
    await client.threads.create(thread_id=thread_name)
    run = await held_run(client, model, thread_name, f"cancel-{wait}")
    await client.runs.cancel(thread_name, run["run_id"], wait=wait)
    if not wait:
        await client.runs.join(thread_name, run["run_id"])
    assert (await client.runs.get(thread_name, run["run_id"]))["status"] == "interrupted"
    await client.runs.cancel(thread_name, run["run_id"], wait=wait)
    assert (await client.threads.get(thread_name))["status"] == "interrupted"


async def test_a_run_cancelled_with_rollback_leaves_nothing(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    run = await held_run(client, model, thread_name, "undo")
    await client.runs.cancel(thread_name, run["run_id"], wait=True, action="rollback")
    assert (await client.threads.get_state(thread_name))["values"] == {}


async def test_a_waiting_run_can_be_cancelled_before_its_turn(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    first = await held_run(client, model, thread_name, "pending")
    second = await client.runs.create(thread_name, AGENT, input=says("never"), multitask_strategy="enqueue")
    await client.runs.cancel(thread_name, second["run_id"], wait=True)
    assert (await client.runs.get(thread_name, second["run_id"]))["status"] == "interrupted"
    await model.release("pending")
    assert texts(await client.runs.join(thread_name, first["run_id"])) == ["go", "begun and done"]


async def test_a_run_that_has_ended_cannot_be_cancelled_but_forgotten(client, thread_name):
    await client.threads.create(thread_id=thread_name)
    await client.runs.wait(thread_name, AGENT, input=says("hello"))
    (run,) = await client.runs.list(thread_name)
    with pytest.raises(ConflictError):
        await client.runs.cancel(thread_name, run["run_id"])
    await client.runs.delete(thread_name, run["run_id"])
    with pytest.raises(NotFoundError):
        await client.runs.get(thread_name, run["run_id"])


async def test_an_active_run_cannot_be_forgotten(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    run = await held_run(client, model, thread_name, "forget")
    with pytest.raises(ConflictError):
        await client.runs.delete(thread_name, run["run_id"])
    await model.release("forget")
    await client.runs.join(thread_name, run["run_id"])


async def test_a_run_that_stops_before_a_node_is_interrupted_and_goes_on_without_input(client, model, thread_name):
    await client.threads.create(thread_id=thread_name)
    await model.script(ToolCall("ls", {"path": "/mnt/user-data/outputs"}))
    await client.runs.wait(thread_name, AGENT, input=says("look"), interrupt_before=["tools"])
    (run,) = await client.runs.list(thread_name)
    assert run["status"] == "interrupted"
    assert (await client.threads.get(thread_name))["status"] == "interrupted"
    assert (await client.threads.get_state(thread_name))["next"] == ["tools"]
    await model.script(Text("nothing there"))
    values = await client.runs.wait(thread_name, AGENT)
    assert [message["type"] for message in values["messages"]] == ["human", "ai", "tool", "ai"]
    assert (await client.threads.get(thread_name))["status"] == "idle"


async def test_a_missing_thread_is_made_where_asked_for(client, thread_name):
    with pytest.raises(NotFoundError):
        await client.runs.create(thread_name, AGENT, input=says("hello"))
    run = await client.runs.create(thread_name, AGENT, input=says("hello"), if_not_exists="create")
    assert texts(await client.runs.join(thread_name, run["run_id"]))[0] == "hello"


async def test_what_does_not_exist_is_refused(client, thread_name):
    await client.threads.create(thread_id=thread_name)
    with pytest.raises(UnprocessableEntityError, match="no assistant"):
        await client.runs.create(thread_name, "nobody", input=says("hello"))
    for call in (client.runs.get, client.runs.cancel, client.runs.delete):
        with pytest.raises(NotFoundError):
            await call(thread_name, str(uuid.uuid4()))
    with pytest.raises(NotFoundError):
        await client.runs.list("no-such-thread")


async def test_the_synchronous_client_works_too(program, model, thread_name):
    await model.script(Text("from afar"))
    values, events = await asyncio.to_thread(_use_synchronous_client, program.gateway.url, thread_name)
    assert texts(values) == ["hello", "from afar"]
    assert events[0] == "metadata"
    assert events[-1] == "end"


def _use_synchronous_client(url, thread_id):
    with get_sync_client(url=f"{url}/api") as client:
        client.threads.create(thread_id=thread_id)
        values = client.runs.wait(thread_id, AGENT, input=says("hello"))
        events = [part.event for part in client.runs.stream(thread_id, AGENT, input=says("again"))]
        client.threads.delete(thread_id)
        return values, events
