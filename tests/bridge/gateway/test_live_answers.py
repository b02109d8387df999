"""Answers that stay open: kept alive, cut off, resumed, abandoned, and ended when the server stops."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest

from bridge.runs.records import RunStatus

RUNS = "/api/threads/t/runs"
RUN = {"assistant_id": "lead_agent"}


async def until(condition, seconds=5.0):
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is looked at happens behind a socket
            await asyncio.sleep(0.01)


async def events(response):
    """Every event of a stream as (id, name, data)."""
    found, fields = [], {}
    async for line in response.content:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if not line.strip():
            if "event" in fields:
                found.append((fields["id"], fields["event"], json.loads(fields["data"])))
            fields = {}
        elif name:
            fields[name] = value
    return found


@pytest.fixture
async def brisk(start_house):
    house = await start_house(keepalive_seconds=0.05, disconnect_grace_seconds=0.3)
    await house.thread()
    return house


async def start(house, path="", **body):
    response = await house.request("POST", RUNS + path, json=RUN | body)
    assert response.status == 200
    return response, response.headers["Content-Location"].rpartition("/")[2]


async def test_a_stream_shows_the_modes_asked_for_and_each_event_has_its_id(brisk):
    response, run_id = await start(brisk, "/stream", stream_mode=["messages-tuple", "custom"])
    await brisk.runs.say(run_id, "updates", {"model": 1})
    await brisk.runs.say(run_id, "messages", [{"content": "é\u2028\n"}, {}])
    await brisk.runs.say(run_id, "messages", [{"content": "inner"}, {}], ("tools:1",))
    await brisk.runs.say(run_id, "house", {"secret": 1})
    await brisk.runs.end(run_id)
    assert await events(response) == [
        ("1.1", "metadata", {"run_id": run_id, "attempt": 1}),
        ("1.3", "messages", [{"content": "é\u2028\n"}, {}]),
        ("1.6", "end", None),
    ]


async def test_subgraphs_are_shown_under_their_own_name_where_asked_for(brisk):
    response, run_id = await start(brisk, "/stream", stream_mode="updates", stream_subgraphs=True)
    await brisk.runs.say(run_id, "updates", {"a": 1}, ("tools:1", "inner:2"))
    await brisk.runs.end(run_id)
    assert [name for _, name, _ in await events(response)] == ["metadata", "updates|tools:1|inner:2", "end"]


async def test_a_joiner_of_a_run_without_modes_sees_all_but_what_is_the_houses_own(brisk):
    _, run_id = await start(brisk)
    for mode in ("messages", "updates", "house", "custom"):
        await brisk.runs.say(run_id, mode, [])
    await brisk.runs.end(run_id)
    response = await brisk.request("GET", f"{RUNS}/{run_id}/stream")
    assert [name for _, name, _ in await events(response)] == ["metadata", "messages", "updates", "custom", "end"]


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ("1.2", "1.3"),
        ("0.9", "1.1"),
        ("1", "1.1"),
        ("-1", "1.1"),
        ("", "1.1"),
        ("nonsense", "1.1"),
        ("1.99999999999999999999", "1.1"),
    ],
)
async def test_a_stream_goes_on_behind_the_last_event_id_and_begins_anew_behind_a_foreign_one(brisk, last, first):
    _, run_id = await start(brisk)
    for number in range(3):
        await brisk.runs.say(run_id, "updates", number)
    await brisk.runs.end(run_id)
    response = await brisk.request("GET", f"{RUNS}/{run_id}/stream", headers={"Last-Event-ID": last})
    ids = [event_id for event_id, _, _ in await events(response)]
    assert ids == [f"1.{n}" for n in range(int(first[2:]), 6)]


async def test_a_silent_stream_carries_heartbeats(brisk):
    response, run_id = await start(brisk, "/stream")
    async with asyncio.timeout(5):
        beats = 0
        while beats < 4:
            beats += await response.content.readline() == b": heartbeat\n"
    await brisk.runs.end(run_id)


async def test_waiting_trickles_white_space_before_the_values(brisk):
    response, run_id = await start(brisk, "/wait")
    first = await response.content.readexactly(4)
    await brisk.runs.end(run_id)
    body = first + await response.read()
    assert first == b"\n\n\n\n"
    assert json.loads(body) == {"messages": []}


async def test_a_failed_run_answers_with_its_error_to_wait_and_join_alike(brisk):
    error = {"error": "ModelCallFailed", "message": "The model is not reachable."}
    response, run_id = await start(brisk, "/wait")
    await brisk.runs.end(run_id, RunStatus.ERROR, error)
    assert await response.json() == {"__error__": error}
    joined = await brisk.request("GET", f"{RUNS}/{run_id}/join")
    assert await joined.json() == {"__error__": error}


@pytest.mark.parametrize("prefix", ["/api", "/api/langgraph"])
async def test_headers_say_where_the_run_is_and_where_to_go_on(brisk, prefix):
    response = await brisk.request("POST", f"{prefix}/threads/t/runs/stream", json=RUN | {"on_disconnect": "cancel"})
    assert response.headers["Content-Location"] == f"{prefix}/threads/t/runs/run-0"
    assert response.headers["Location"] == "/threads/t/runs/run-0/stream?cancel_on_disconnect=true"
    assert response.headers["X-Accel-Buffering"] == "no"
    await brisk.runs.end("run-0")
    response = await brisk.request("GET", f"{prefix}/threads/t/runs/run-0/stream?stream_mode=values&stream_mode=custom")
    assert response.headers["Location"] == "/threads/t/runs/run-0/stream?stream_mode=values&stream_mode=custom"


async def test_a_run_goes_on_when_its_reader_leaves(brisk):
    response, run_id = await start(brisk, "/stream")
    response.close()
    await asyncio.sleep(0.6)
    assert brisk.runs.cancelled == []
    await brisk.runs.end(run_id)


@pytest.mark.parametrize("path", ["/stream", "/wait"])
async def test_a_run_whose_reader_wanted_it_is_cancelled_when_it_leaves(brisk, path):
    response, run_id = await start(brisk, path, on_disconnect="cancel")
    response.close()
    await until(lambda: brisk.runs.cancelled == [run_id])


async def test_a_reader_that_comes_back_in_time_keeps_its_run(brisk):
    response, run_id = await start(brisk, "/stream", on_disconnect="cancel")
    response.close()
    await asyncio.sleep(0.15)
    again = await brisk.request("GET", "/api" + response.headers["Location"])
    await asyncio.sleep(0.5)
    assert brisk.runs.cancelled == []
    again.close()
    await until(lambda: brisk.runs.cancelled == [run_id])


async def test_a_run_somebody_else_reads_is_not_abandoned(brisk):
    response, run_id = await start(brisk, "/stream", on_disconnect="cancel")
    other = await brisk.request("GET", f"{RUNS}/{run_id}/stream")
    response.close()
    await asyncio.sleep(0.6)
    assert brisk.runs.cancelled == []
    await brisk.runs.end(run_id)
    assert (await events(other))[-1][1] == "end"


@asynccontextmanager
async def reader_that_does_not_read(house, path):
    host, port = "127.0.0.1", house.gateway.port
    reader, writer = await asyncio.open_connection(host, port, limit=1024)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    yield reader
    writer.close()


async def test_a_reader_that_does_not_read_holds_nobody_up_and_is_cut_off_in_the_end(start_house):
    house = await start_house(stalled_client_seconds=0.5)
    await house.thread()
    _, run_id = await start(house)
    async with reader_that_does_not_read(house, f"{RUNS}/{run_id}/stream") as stalled:
        quick = await house.request("GET", f"{RUNS}/{run_id}/stream")
        for _ in range(300):
            await house.runs.say(run_id, "updates", "x" * 100_000)
        await house.runs.end(run_id)
        async with asyncio.timeout(5):
            assert len(await events(quick)) == 302
        await asyncio.sleep(1)  # longer than a reader may stall
        assert await all_that_still_comes(stalled) < 300 * 100_000


async def all_that_still_comes(reader):
    taken = 0
    with suppress(ConnectionResetError):
        while data := await reader.read(1 << 20):
            taken += len(data)
    return taken


@pytest.mark.parametrize("path", ["/stream", "/wait"])
async def test_a_stopping_server_ends_its_open_answers_at_once_and_none_looks_whole(start_house, path):
    house = await start_house()
    await house.thread()
    response, run_id = await start(house, path, on_disconnect="cancel", stream_mode="updates")
    await house.runs.say(run_id, "updates", "last words")
    if path == "/stream":
        await response.content.readuntil(b"last words")
    async with asyncio.timeout(2):
        await house.gateway.stop()
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()
    assert house.runs.cancelled == []


async def test_an_answer_that_breaks_in_the_middle_is_cut_off_and_logged(brisk, caplog):
    response, run_id = await start(brisk, "/stream")
    del brisk.runs._parts[run_id]
    brisk.runs._parts["other"] = []
    await brisk.runs.say("other", "updates", 1)
    with pytest.raises(aiohttp.ClientPayloadError):
        await response.read()
    assert "broke off" in caplog.text


async def test_a_body_reaches_the_house_as_it_was_meant(brisk):
    body = {
        "input": {"messages": [{"role": "user", "content": "hi", "id": "m1", "additional_kwargs": {"a": 1}}]},
        "config": {"configurable": None, "recursion_limit": 5000, "tags": ["x"], "callbacks": ["y"]},
        "context": {"model_name": "main", "user_id": "somebody-else", "__pregel_resuming": True},
        "metadata": {"source": "test", "owner_id": "somebody-else"},
        "stream_mode": ["values", "messages-tuple"],
        "stream_resumable": False,
        "checkpoint": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c1"},
        "multitask_strategy": "enqueue",
        "interrupt_before": "*",
        "interrupt_after": ["tools"],
        "durability": "sync",
        "webhook": None,
        "feedback_keys": ["f"],
        "checkpoint_during": True,
        "langsmith_tracer": {},
    }
    await start(brisk, **body)
    (asked,) = brisk.runs.requests
    assert (asked.thread_id, asked.user_id, asked.multitask, asked.metadata) == (
        "t",
        "default",
        "enqueue",
        {"source": "test"},
    )
    spec = asked.spec
    assert spec.input == body["input"]
    assert spec.config == {"configurable": {}, "metadata": {}, "tags": ("x",), "recursion_limit": 5000}
    assert spec.context == {"model_name": "main"}
    assert spec.stream_modes == ("values", "messages-tuple")
    assert (spec.checkpoint_id, spec.interrupt_before, spec.interrupt_after) == ("c1", "*", ("tools",))
    assert spec.durability == "sync"


@pytest.mark.parametrize(
    ("given", "taken"), [(50, 50), (0, None), (-1, None), ("many", None), (True, None), (None, None)]
)
async def test_a_recursion_limit_that_makes_no_sense_is_as_if_none_was_given(brisk, given, taken):
    await start(brisk, config={"recursion_limit": given})
    assert brisk.runs.requests[0].spec.config.get("recursion_limit") == taken


async def test_a_resume_is_a_command_and_has_no_input(brisk):
    await start(brisk, command={"resume": "yes"}, input={})
    assert brisk.runs.requests[0].spec.command == {"resume": "yes"}
    assert brisk.runs.requests[0].spec.input is None
