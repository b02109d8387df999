"""The house as its two kinds of clients see it: the doors, and the API's threads."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from agent.paths import ThreadPaths
from bridge.clock import utc_now
from bridge.errors import AlreadyExists, InvalidRequest, NotFound
from bridge.files.artifacts import Artifacts
from bridge.files.config import UploadsConfig
from bridge.files.uploads import Uploads
from bridge.host import House
from bridge.inbox.config import InboxConfig
from bridge.inbox.intake import Intake
from bridge.inbox.signs import ReceiptSigns
from bridge.persistence import clarifications, conversations, deliveries, feedback, runs, threads, transcript
from bridge.persistence.clarifications import AskedBy, ClarificationRecord
from bridge.persistence.database import Database
from bridge.persistence.deliveries import DeliveryState, NewDelivery
from bridge.persistence.threads import ThreadStatus
from bridge.persistence.transcript import Said
from bridge.runs.config import RunsConfig
from bridge.runs.records import NewRun
from bridge.signals import Signals
from bridge.sole_tasks import SoleTasks
from channels.contract import (
    ChannelSection,
    ChatKind,
    Clarification,
    ConversationKey,
    DeliveryReceipt,
    Outcome,
    Piece,
    PieceState,
    Reply,
    ReplyPart,
    ReplyPhase,
    ShownAnswer,
    Text,
)
from tests.bridge.people import CHAT, message
from tests.bridge.replica import open_replica
from tests.bridge.scripted import Says, scripted


@pytest.fixture
def house(database: Database, tmp_path: Path) -> House:
    paths = ThreadPaths(tmp_path)
    sections = {"demo": ChannelSection(access="open")}
    sole = SoleTasks(database, RunsConfig(), "me", utc_now)
    intake = Intake(
        database, sections, ReceiptSigns({}, Signals()), lambda _key: None, Signals(), InboxConfig(), utc_now
    )
    return House(database, intake, Uploads(paths, UploadsConfig()), Artifacts(paths), sole, Signals(), "lead", utc_now)


async def thread(database: Database) -> str:
    record = await database.read(lambda c: conversations.find(c, CHAT))
    assert record is not None
    assert record.thread_id is not None
    return record.thread_id


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def test_an_event_goes_through_the_intake(house: House) -> None:
    said = message("hi")
    assert (await house.submit(said)).outcome is Outcome.ACCEPTED
    assert (await house.submit(said)).outcome is Outcome.DUPLICATE


async def test_a_conversation_is_opened_once_and_takes_files_before_the_first_message(
    house: House, database: Database
) -> None:
    with pytest.raises(NotFound):
        await house.save_upload(CHAT, "a.txt", pieces(b"hello"))
    await house.open_conversation(CHAT, ChatKind.PRIVATE, "ann")
    first = await thread(database)
    await house.open_conversation(CHAT, ChatKind.PRIVATE, "ann")
    assert await thread(database) == first
    ref = await house.save_upload(CHAT, "a.txt", pieces(b"hello"))
    assert (ref.name, ref.size_bytes) == ("a.txt", 5)
    assert (await house.open_artifact(CHAT, ref.ref)).path.name == "a.txt"
    with pytest.raises(NotFound):
        await house.open_artifact(replace(CHAT, chat="other"), ref.ref)


async def test_a_conversation_whose_thread_was_deleted_opens_another(house: House, database: Database) -> None:
    await house.open_conversation(CHAT, ChatKind.PRIVATE, "ann")
    first = await thread(database)
    await database.write(lambda c: threads.remove(c, first))
    assert await house.transcript(CHAT) == ()
    await house.open_conversation(CHAT, ChatKind.PRIVATE, "ann")
    assert await thread(database) != first


async def test_a_persons_conversations_tell_title_and_whether_one_runs(house: House, database: Database) -> None:
    for name in ("a", "b"):
        await house.open_conversation(replace(CHAT, chat=name), ChatKind.PRIVATE, "ann")
    record = await database.read(lambda c: conversations.find(c, replace(CHAT, chat="a")))
    thread_id = record.thread_id
    await database.write(lambda c: threads.set_status(c, thread_id, ThreadStatus.IDLE, now=utc_now(), title="A talk"))
    await database.write(lambda c: runs.insert(c, "run-1", NewRun(thread_id), now=utc_now()))
    listed = await house.conversations("demo", "bot", "ann")
    assert [(each.key.chat, each.title, each.is_running) for each in listed] == [
        ("b", "", False),
        ("a", "A talk", True),
    ]
    assert await house.conversations("demo", "bot", "bob") == []


async def test_what_was_said_is_read_behind_a_position(house: House, database: Database) -> None:
    assert await house.transcript(CHAT) == ()
    await house.open_conversation(CHAT, ChatKind.PRIVATE, "ann")
    thread_id = await thread(database)
    for text in ("one", "two"):
        said = Said(text)
        await database.write(lambda c, s=said: transcript.append_person(c, thread_id, "run-1", s, now=utc_now()))
    assert [entry.text for entry in await house.transcript(CHAT)] == ["one", "two"]
    assert [entry.text for entry in await house.transcript(CHAT, after=1)] == ["two"]


async def test_a_question_is_looked_up_by_its_token(house: House, database: Database) -> None:
    assert await house.clarification("tok") is None
    await house.open_conversation(CHAT, ChatKind.PRIVATE, "ann")
    thread_id = await thread(database)
    question = Clarification("tok", "Which?")
    record = ClarificationRecord(question, "run-1", "call", thread_id, AskedBy.QUESTION, "ann")
    await database.write(lambda c: runs.insert(c, "run-1", NewRun(thread_id), now=utc_now()))
    await database.write(lambda c: clarifications.ensure(c, record, now=utc_now()))
    assert await house.clarification("tok") == question


async def test_what_a_person_thinks_of_answers_is_told_to_that_person(house: House, database: Database) -> None:
    assert await house.ratings(CHAT, "ann") == {}
    await house.open_conversation(CHAT, ChatKind.PRIVATE, "ann")
    thread_id = await thread(database)
    await database.write(lambda c: runs.insert(c, "run-1", NewRun(thread_id), now=utc_now()))
    run = await database.read(lambda c: runs.find(c, "run-1"))
    await database.write(lambda c: feedback.rate(c, run, "demo:ann", -1, comment="", now=utc_now()))
    assert await house.ratings(CHAT, "ann") == {"run-1": -1}
    assert await house.ratings(CHAT, "bob") == {}


async def test_a_whole_answer_is_found_by_any_message_that_shows_it_in_any_topic_of_its_chat(
    house: House, database: Database
) -> None:
    topic = replace(CHAT, topic="5")
    await house.open_conversation(CHAT, ChatKind.GROUP, "ann")
    thread_id = await thread(database)

    def show(connection: Connection, run_id: str, where: ConversationKey, *answer: ReplyPart) -> None:
        """A run whose two messages stand there; without an answer it has not ended."""
        now = utc_now()
        runs.insert(connection, run_id, NewRun(thread_id), now=now)
        deliveries.insert(connection, NewDelivery(f"d-{run_id}", where, ChatKind.GROUP, run_id=run_id), now=now)
        (taken,) = deliveries.claim_due(connection, owner="me", now=now, lease_expires_at=now, limit=1)
        pieces = tuple(Piece(f"text:{n}", PieceState.SENT, f"{run_id}/{n}", "x") for n in range(2))
        deliveries.record(connection, taken, "me", DeliveryReceipt(), DeliveryReceipt(pieces))
        deliveries.finish(connection, taken, "me", DeliveryState.SENT, now=now)
        if answer:
            reply = Reply(answer, ReplyPhase.FINAL, run_id)
            transcript.append_reply(connection, thread_id, run_id, reply, now=now)

    await database.write(lambda c: show(c, "general", CHAT, Text("a", "whole")))
    await database.write(lambda c: show(c, "topic", topic, Text("a", "whole")))
    await database.write(lambda c: show(c, "asking", CHAT, Text("a", "Hm."), Clarification("tok", "Which?")))
    await database.write(lambda c: show(c, "growing", CHAT))
    assert await house.answer_at(CHAT, "general/0") == ShownAnswer(CHAT, "general")
    assert await house.answer_at(topic, "general/1") == ShownAnswer(CHAT, "general")
    assert await house.answer_at(CHAT, "topic/1") == ShownAnswer(topic, "topic")
    assert await house.answer_at(replace(CHAT, chat="chat2"), "topic/1") is None
    assert await house.answer_at(replace(CHAT, chat="cha"), "topic/1") is None
    for nothing in ("asking/0", "growing/0", "no-such"):
        assert await house.answer_at(CHAT, nothing) is None


async def test_threads_of_the_api_are_made_read_and_deleted(
    database: Database, database_url: str | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    config, _ = scripted(request.node.name, Says("one"), Says("two"))
    async with open_replica(database, tmp_path, config, url=database_url) as replica:
        service = replica.threads
        made = await service.create("t", metadata={"a": 1}, user_id="ann")
        assert (made.thread_id, made.metadata, made.user_id, made.status) == ("t", {"a": 1}, "ann", "idle")
        with pytest.raises(AlreadyExists):
            await service.create("t")
        assert (await service.create("t", if_exists="do_nothing")).metadata == {"a": 1}
        assert (await service.create()).thread_id != (await service.create()).thread_id
        for bad in ("../x", "a b", "x" * 65, "a/b"):
            with pytest.raises(InvalidRequest):
                await service.create(bad)

        first = await replica.ended(await replica.run("hi"))
        await replica.ended(await replica.run("again"))
        assert [m["content"] for m in (await service.final_values(first))["messages"]] == ["hi", "one"]
        state = await service.state("t")
        assert [m.text for m in state.values["messages"]] == ["hi", "one", "again", "two"]
        assert (await service.state("t", first.checkpoint_after)).values["messages"][-1].text == "one"
        assert len(await service.history("t", limit=1)) == 1

        folder = replica.agent.paths.root("t")
        await replica.agent.paths.create("t")
        await service.delete("t")
        assert not folder.exists()
        for missing in (service.get, service.state, service.delete):
            with pytest.raises(NotFound):
                await missing("t")
        assert await replica.texts() == []
