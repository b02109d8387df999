"""A run's stream: gathered, numbered, kept, read by anybody at any pace."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.types import Interrupt

from bridge.clock import utc_now
from bridge.persistence import runs, stream_parts, threads
from bridge.persistence.database import Database
from bridge.runs import stream as stream_module
from bridge.runs.config import RunsConfig
from bridge.runs.jsonable import to_jsonable
from bridge.runs.records import NewRun, PartId, RunRecord, RunStatus, StreamPart
from bridge.runs.retention import Retention
from bridge.runs.stream import LiveStream, StreamHub
from bridge.signals import Signals
from tests.bridge.replica import streamed_text

META = {"langgraph_node": "model"}


def words(text: str, message_id: str = "m", **more: Any) -> tuple[AIMessageChunk, dict[str, str]]:
    return AIMessageChunk(text, id=message_id, **more), META


@pytest.fixture
async def hub(database: Database) -> AsyncIterator[StreamHub]:
    hub = StreamHub(database, Signals())
    hub.start()
    yield hub
    await hub.stop()


@pytest.fixture
async def run(database: Database) -> RunRecord:
    def store(connection: Any) -> RunRecord | None:
        threads.insert(connection, "t", assistant_id="lead", user_id="ann", now=utc_now())
        runs.insert(connection, "run-1", NewRun("t"), now=utc_now())
        return runs.claim_next(connection, owner="me", now=utc_now(), lease_expires_at=utc_now() + timedelta(hours=1))

    claimed = await database.write(store)
    assert claimed is not None
    return claimed


async def end(database: Database, hub: StreamHub, stream: LiveStream) -> None:
    """End the run as an attempt does."""
    tail = await hub.drain(stream)
    last = stream.number("end", (), b"null")

    def commit(connection: Any) -> None:
        runs.finish(connection, stream.run, RunStatus.SUCCESS, now=utc_now())
        stream_parts.insert(connection, stream.run.run_id, [*tail, last])

    await database.write(commit)
    stream.close(last)
    hub.release(stream)


async def read(hub: StreamHub, after: PartId | None = None) -> list[StreamPart]:
    async with asyncio.timeout(5):
        return [part async for part in hub.read("run-1", after)]


async def test_the_first_words_go_out_at_once_and_the_next_are_gathered(hub: StreamHub, run: RunRecord) -> None:
    stream = hub.open(run)
    for word in ("Hel", "lo ", "dear ", "reader"):
        stream.emit("messages", (), words(word))
    shown = [part.data[0]["content"] for part in stream.unsaved()]
    assert shown == ["Hel"]
    stream.flush_text()
    assert [part.data[0]["content"] for part in stream.unsaved()] == ["Hel", "lo dear reader"]


async def test_gathered_words_do_not_wait_for_ever(
    hub: StreamHub, run: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "_TEXT_SECONDS", 0.02)
    stream = hub.open(run)
    for word in ("a", "b", "c"):
        stream.emit("messages", (), words(word))
    await asyncio.sleep(0.06)
    assert streamed_text(list(stream.behind(PartId(1, 0)))) == "abc"


async def test_much_text_goes_out_without_waiting(hub: StreamHub, run: RunRecord) -> None:
    stream = hub.open(run)
    stream.emit("messages", (), words("a"))
    stream.emit("messages", (), words("x" * 2000))
    assert len(stream.behind(PartId(1, 0))) == 2


async def test_text_keeps_its_place_before_everything_else(hub: StreamHub, run: RunRecord) -> None:
    stream = hub.open(run)
    stream.emit("messages", (), words("a", "one"))
    stream.emit("messages", (), words("b", "one"))
    stream.emit("messages", (), words("c", "two"))
    stream.emit("messages", ("sub:1",), words("d", "two"))
    stream.emit("messages", (), (AIMessageChunk("", id="two", tool_call_chunks=[], chunk_position="last"), META))
    stream.emit("messages", (), words("e", "two"))
    stream.emit("updates", (), {"model": {"messages": [AIMessage("abc", id="one")]}})
    parts = stream.behind(PartId(1, 0))
    assert [(part.mode, part.namespace) for part in parts] == [
        ("messages", ()),
        ("messages", ()),
        ("messages", ()),
        ("messages", ("sub:1",)),
        ("messages", ()),
        ("messages", ()),
        ("updates", ()),
    ]
    assert [part.data[0]["content"] for part in parts[:-1]] == ["a", "b", "c", "d", "", "e"]
    assert [part.id.seq for part in parts] == list(range(1, 8))


async def test_a_slow_reader_gets_everything_though_memory_forgets(
    database: Database, hub: StreamHub, run: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "_MEMORY_BYTES", 200)
    stream = hub.open(run)
    reading = hub.read("run-1")
    stream.emit("custom", (), {"n": 0})
    first = await anext(reading)
    for number in range(1, 300):
        stream.emit("custom", (), {"n": number})
        if number % 100 == 0:
            await hub._save_all()
    await hub._save_all()
    assert len(stream._parts) < 30
    await end(database, hub, stream)
    async with asyncio.timeout(5):
        rest = [part async for part in reading]
    assert [part.data["n"] for part in [first, *rest] if part.mode == "custom"] == list(range(300))
    assert rest[-1].mode == "end"
    assert await read(hub) == [first, *rest]


async def test_a_reader_waits_for_a_run_that_has_not_begun(database: Database, hub: StreamHub, run: RunRecord) -> None:
    reading = asyncio.create_task(read(hub))
    await asyncio.sleep(0.02)
    stream = hub.open(run)
    stream.emit("custom", (), {"n": 1})
    await end(database, hub, stream)
    assert [part.mode for part in await reading] == ["custom", "end"]


async def test_a_reader_follows_the_run_into_another_attempt(
    database: Database, hub: StreamHub, run: RunRecord
) -> None:
    first = hub.open(run)
    first.emit("custom", (), {"n": 1})
    reading = asyncio.create_task(read(hub))
    await asyncio.sleep(0.02)
    await hub._save_all()
    hub.release(first)
    again = await database.write(
        lambda c: runs.claim_next(
            c, owner="me", now=utc_now(), lease_expires_at=utc_now() + timedelta(hours=1), from_owners=["me"]
        )
    )
    assert again is not None
    second = hub.open(again)
    second.emit("custom", (), {"n": 2})
    await end(database, hub, second)
    assert [part.id for part in await reading] == [PartId(1, 1), PartId(2, 1), PartId(2, 2)]


async def test_another_process_reads_what_is_stored(database: Database, hub: StreamHub, run: RunRecord) -> None:
    other = StreamHub(database, Signals())
    stream = hub.open(run)
    stream.emit("custom", (), {"n": 1})
    await end(database, hub, stream)
    assert [part.mode for part in await read(other)] == ["custom", "end"]


async def test_stopping_stores_what_was_shown(database: Database, run: RunRecord) -> None:
    hub = StreamHub(database, Signals())
    hub.start()
    hub.open(run).emit("custom", (), {"n": 1})
    await hub.stop()
    assert len(await database.read(lambda c: stream_parts.read(c, "run-1", PartId(0, 0)))) == 1


async def test_stopping_in_the_middle_of_storing_stores_nothing_twice(
    database: Database, run: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Symptom: now and then a stopping process ended with a violated key."""
    write, began = database.write, asyncio.Event()

    async def slowly(work: Any) -> None:
        began.set()
        await asyncio.sleep(0.05)
        await write(work)

    monkeypatch.setattr(database, "write", lambda work: asyncio.shield(asyncio.ensure_future(slowly(work))))
    hub = StreamHub(database, Signals())
    hub.start()
    hub.open(run).emit("custom", (), {"n": 1})
    await began.wait()
    await hub.stop()
    await asyncio.sleep(0.1)
    assert len(await database.read(lambda c: stream_parts.read(c, "run-1", PartId(0, 0)))) == 1


async def test_streams_are_swept_after_their_time(database: Database, hub: StreamHub, run: RunRecord) -> None:
    stream = hub.open(run)
    await end(database, hub, stream)
    config, signals = RunsConfig(stream_retention_seconds=600), Signals()
    kept = Retention(database, config, signals, utc_now)
    swept = Retention(database, config, signals, lambda: utc_now() + timedelta(seconds=601))
    for retention, left in ((kept, 1), (swept, 0)):
        retention.start()
        async with asyncio.timeout(5):
            await asyncio.sleep(0.05)
            while len(await database.read(lambda c: stream_parts.read(c, "run-1", PartId(0, 0)))) != left:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await retention.stop()
    assert await read(hub) == []


@pytest.mark.parametrize("text", ["", "1", "1.", ".2", "a.b", "1.2.3"])
def test_only_a_part_id_is_read_as_one(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  int() words it
        PartId.parse(text)
    assert PartId.parse(str(PartId(3, 14))) == PartId(3, 14)


def test_what_a_graph_gives_becomes_json_whatever_it_is() -> None:
    class Name(str):
        __slots__ = ()

    class Odd:
        def __repr__(self) -> str:
            return "<odd>"

    values = {1: (Name("a"), {"b"}), "i": Interrupt(value="v", id="i"), "x": b"\xff", "o": Odd(), "p": PartId(1, 2)}
    assert to_jsonable(values) == {
        "1": ["a", ["b"]],
        "i": {"value": "v", "id": "i"},
        "x": "\ufffd",
        "o": "<odd>",
        "p": {"attempt": 1, "seq": 2},
    }
    assert to_jsonable(AIMessage("hi", id="m"))["content"] == "hi"
