"""Threads, conversations, transcript, questions and streams: what the other repositories keep."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import update

from bridge.persistence import clarifications, conversations, stream_parts, tables, threads, transcript
from bridge.persistence.clarifications import AskedBy, ClarificationRecord
from bridge.persistence.runs import claim_next, finish
from bridge.persistence.threads import ThreadStatus
from bridge.persistence.transcript import Said
from bridge.runs.records import PartId, RunStatus, StreamPart
from channels.contract import (
    ChatKind,
    Clarification,
    ClarificationState,
    FormField,
    Notice,
    NoticeKind,
    Option,
    Reply,
    ReplyPhase,
    Text,
    TranscriptFile,
)
from tests.bridge.conftest import StandingClock
from tests.bridge.people import CHAT
from tests.bridge.persistence.conftest import MakeRun, Write

QUESTION = Clarification("tok", "Which?", options=(Option("Red", "red"),), fields=(FormField("size", "Size"),))


async def thread(write: Write, clock: StandingClock, name: str = "t") -> None:
    assert await write(
        lambda c: threads.insert(c, name, assistant_id="lead", user_id="ann", now=clock(), metadata={"a": 1})
    )


async def test_a_thread_is_made_once(write: Write, clock: StandingClock) -> None:
    await thread(write, clock)
    found = await write(lambda c: threads.find(c, "t", lock=True))
    assert (found.assistant_id, found.user_id, found.title, found.status, found.metadata, found.created_at) == (
        "lead",
        "ann",
        None,
        ThreadStatus.IDLE,
        {"a": 1},
        clock(),
    )
    assert not await write(lambda c: threads.insert(c, "t", assistant_id="x", user_id="bob", now=clock()))
    assert (await write(lambda c: threads.find(c, "t"))).user_id == "ann"


async def test_a_title_is_set_but_never_taken_away(write: Write, clock: StandingClock) -> None:
    await thread(write, clock)
    later = clock.advance(9)
    await write(lambda c: threads.set_status(c, "t", ThreadStatus.BUSY, now=later, title="A talk"))
    await write(lambda c: threads.set_status(c, "t", ThreadStatus.ERROR, now=later, title=None))
    found = await write(lambda c: threads.find(c, "t"))
    assert (found.title, found.status, found.updated_at) == ("A talk", ThreadStatus.ERROR, later)


async def test_fences_only_grow_and_each_thread_has_its_own(write: Write, clock: StandingClock) -> None:
    await thread(write, clock)
    await thread(write, clock, "u")
    assert [await write(lambda c: threads.begin_run(c, "t", now=clock())) for _ in range(3)] == [1, 2, 3]
    assert await write(lambda c: threads.begin_run(c, "u", now=clock())) == 1


async def test_a_removed_thread_takes_everything_of_it_along(
    write: Write, clock: StandingClock, make_run: MakeRun
) -> None:
    run_id = await make_run()
    record = ClarificationRecord(QUESTION, run_id, "call", "t", AskedBy.QUESTION, "ann")
    await write(lambda c: clarifications.ensure(c, record, now=clock()))
    await write(lambda c: transcript.append_person(c, "t", run_id, Said("hi"), now=clock()))
    await write(lambda c: stream_parts.insert(c, run_id, [StreamPart(PartId(1, 1), "end", (), b"null")]))
    await write(lambda c: conversations.ensure(c, CHAT, ChatKind.PRIVATE, "ann", now=clock()))
    await write(lambda c: conversations.point_at(c, CHAT, "t", now=clock()))

    assert await write(lambda c: threads.remove(c, "t"))

    assert not await write(lambda c: threads.remove(c, "t"))
    assert await write(lambda c: clarifications.find(c, "tok")) is None
    assert await write(lambda c: transcript.entries(c, "t")) == []
    assert await write(lambda c: stream_parts.read(c, run_id, PartId(0, 0))) == []
    assert (await write(lambda c: conversations.find(c, CHAT))).thread_id is None


async def test_a_conversation_is_made_once_and_points_where_it_is_told(write: Write, clock: StandingClock) -> None:
    await thread(write, clock)
    assert await write(lambda c: conversations.find(c, CHAT)) is None
    made = await write(lambda c: conversations.ensure(c, CHAT, ChatKind.GROUP, "ann", now=clock()))
    again = await write(lambda c: conversations.ensure(c, CHAT, ChatKind.PRIVATE, "bob", now=clock.advance(1)))
    assert made == again
    assert (made.key, made.chat_kind, made.person_id, made.thread_id) == (CHAT, ChatKind.GROUP, "ann", None)
    later = clock.advance(5)
    await write(lambda c: conversations.point_at(c, CHAT, "t", now=later))
    found = await write(lambda c: conversations.find(c, CHAT, lock=True))
    assert (found.thread_id, found.updated_at) == ("t", later)


async def test_a_persons_conversations_come_newest_first(write: Write, clock: StandingClock) -> None:
    keys = [replace(CHAT, chat=name) for name in ("a", "b", "c")]
    for key in keys:
        clock.advance(1)
        await write(lambda c, k=key: conversations.ensure(c, k, ChatKind.PRIVATE, "ann", now=clock()))
    await write(lambda c: conversations.ensure(c, replace(CHAT, chat="d"), ChatKind.PRIVATE, "bob", now=clock()))
    clock.advance(1)
    await write(lambda c: conversations.touch(c, keys[0], now=clock()))

    async def listed(channel: str = "demo", account: str = "bot", **options: int) -> list[str]:
        found = await write(lambda c: conversations.of_person(c, channel, account, "ann", **options))
        return [record.key.chat for record in found]

    assert await listed() == ["a", "c", "b"]
    assert await listed(limit=1) == ["a"]
    assert await listed("other") == await listed(account="other") == []


async def test_what_was_said_is_kept_in_order_with_its_files(write: Write, clock: StandingClock) -> None:
    await thread(write, clock)
    await thread(write, clock, "u")
    file = TranscriptFile("/mnt/user-data/uploads/a.txt", "a.txt", 3)
    reply = Reply((Text("a", "hello ✓"), QUESTION), ReplyPhase.FINAL, "run-1")
    said = Said("hi", "Ann", "m-1")
    seqs = [
        await write(lambda c: transcript.append_person(c, "t", "run-1", said, now=clock())),
        await write(lambda c: transcript.append_person(c, "t", "run-1", replace(said, message_id="m-2"), now=clock())),
        await write(lambda c: transcript.append_reply(c, "t", "run-1", reply, now=clock())),
        await write(lambda c: transcript.append_person(c, "u", "run-2", said, now=clock())),
    ]
    assert seqs == [1, 2, 3, 1]
    await write(lambda c: transcript.set_files(c, "run-1", "m-2", [file]))

    first, second, answer = await write(lambda c: transcript.entries(c, "t"))

    assert (first.text, first.sender_name, first.message_id, first.files) == ("hi", "Ann", "m-1", ())
    assert second.files == (file,)
    assert (answer.reply, answer.run_id, answer.created_at) == (reply, "run-1", clock())
    assert [entry.seq for entry in await write(lambda c: transcript.entries(c, "t", after=1, limit=1))] == [2]
    assert (await write(lambda c: transcript.entries(c, "u")))[0].files == ()


async def test_an_answer_can_show_that_its_question_was_settled(write: Write, clock: StandingClock) -> None:
    await thread(write, clock)
    reply = Reply((QUESTION,), ReplyPhase.FINAL, "run-1")
    other = replace(reply, run_id="run-2")
    await write(lambda c: transcript.append_person(c, "t", "run-1", Said("hi"), now=clock()))
    await write(lambda c: transcript.append_reply(c, "t", "run-1", reply, now=clock()))
    await write(lambda c: transcript.append_reply(c, "t", "run-2", other, now=clock()))
    settled = replace(reply, parts=(replace(QUESTION, state=ClarificationState.ANSWERED),))
    await write(lambda c: transcript.replace_reply(c, settled))
    assert await write(lambda c: transcript.reply_of(c, "run-1")) == settled
    assert await write(lambda c: transcript.reply_of(c, "run-2")) == other
    assert await write(lambda c: transcript.reply_of(c, "run-3")) is None


async def test_a_question_asked_again_by_the_same_call_stays_the_first(
    write: Write, clock: StandingClock, make_run: MakeRun
) -> None:
    run_id = await make_run()
    record = ClarificationRecord(QUESTION, run_id, "call", "t", AskedBy.INTERRUPT, "ann")
    first = await write(lambda c: clarifications.ensure(c, record, now=clock()))
    repeated = replace(record, clarification=replace(QUESTION, token="another"))
    assert await write(lambda c: clarifications.ensure(c, repeated, now=clock())) == first == QUESTION
    assert await write(lambda c: clarifications.find(c, "tok")) == record
    assert await write(lambda c: clarifications.find(c, "another")) is None


async def test_a_question_is_settled_once_and_the_newest_open_one_waits(
    write: Write, clock: StandingClock, make_run: MakeRun
) -> None:
    run_id = await make_run()
    for name in ("old", "new"):
        expires = clock.advance(1) + timedelta(hours=1)
        question = replace(QUESTION, token=name, expires_at=expires)
        record = ClarificationRecord(question, run_id, name, "t", AskedBy.QUESTION, "ann")
        await write(lambda c, r=record: clarifications.ensure(c, r, now=clock()))
    waiting, _ = await write(lambda c: clarifications.open_on(c, "t"))
    assert (waiting.clarification.token, waiting.clarification.expires_at) == ("new", expires)

    answered = await write(
        lambda c: clarifications.settle(c, "new", ClarificationState.ANSWERED, answer="Red", answered_by="Ann")
    )

    assert (answered.state, answered.answer, answered.answered_by) == (ClarificationState.ANSWERED, "Red", "Ann")
    assert await write(lambda c: clarifications.settle(c, "new", ClarificationState.EXPIRED)) is None
    (waiting,) = await write(lambda c: clarifications.open_on(c, "t"))
    assert waiting.clarification.token == "old"
    assert await write(lambda c: clarifications.open_on(c, "another")) == []


async def test_an_answer_that_cannot_be_read_does_not_hide_those_around_it(write: Write, clock: StandingClock) -> None:
    """Symptom: a conversation with one such answer could not be opened any more."""
    await thread(write, clock)
    for name in ("r-1", "r-2"):
        reply = Reply((Text("a", name),), ReplyPhase.FINAL, name)
        await write(lambda c, r=reply: transcript.append_reply(c, "t", r.run_id, r, now=clock()))
    t = tables.transcript
    await write(lambda c: c.execute(update(t).where(t.c.run_id == "r-1").values(body={"parts": [{"kind": "poem"}]})))
    first, second = await write(lambda c: transcript.entries(c, "t"))
    assert first.reply == Reply(
        (Notice(NoticeKind.ERROR, "This answer can no longer be shown."),), ReplyPhase.FINAL, "r-1"
    )
    assert second.reply == Reply((Text("a", "r-2"),), ReplyPhase.FINAL, "r-2")
    assert await write(lambda c: transcript.reply_of(c, "r-1")) == first.reply


async def test_a_question_that_cannot_be_read_is_as_good_as_gone(
    write: Write, clock: StandingClock, make_run: MakeRun
) -> None:
    """Symptom: whatever was written in its thread was buried."""
    record = ClarificationRecord(QUESTION, await make_run(), "call", "t", AskedBy.QUESTION, "ann")
    await write(lambda c: clarifications.ensure(c, record, now=clock()))
    t = tables.clarifications
    await write(lambda c: c.execute(update(t).values(question="{}")))
    assert await write(lambda c: clarifications.open_on(c, "t")) == []
    assert await write(lambda c: clarifications.find(c, "tok")) is None


async def test_a_stream_is_read_behind_a_position_over_attempts(write: Write, make_run: MakeRun) -> None:
    run_id = await make_run()
    parts = [
        StreamPart(PartId(1, 1), "metadata", (), b"{}"),
        StreamPart(PartId(1, 2), "updates", ("sub:1", "sub:2"), b'{"a":"\xe2\x9c\x93"}'),
        StreamPart(PartId(2, 1), "end", (), b"null"),
    ]
    await write(lambda c: stream_parts.insert(c, run_id, parts[:2]))
    await write(lambda c: stream_parts.insert(c, run_id, parts[2:]))
    assert await write(lambda c: stream_parts.read(c, run_id, PartId(0, 0))) == parts
    assert await write(lambda c: stream_parts.read(c, run_id, PartId(1, 1))) == parts[1:]
    assert await write(lambda c: stream_parts.read(c, run_id, PartId(1, 99))) == parts[2:]
    assert await write(lambda c: stream_parts.read(c, run_id, PartId(0, 0), limit=1)) == parts[:1]


async def test_streams_are_forgotten_some_time_after_the_end(
    write: Write, clock: StandingClock, make_run: MakeRun
) -> None:
    ended, open_run = await make_run("a"), await make_run("b")
    for run_id in (ended, open_run):
        await write(lambda c, r=run_id: stream_parts.insert(c, r, [StreamPart(PartId(1, 1), "end", (), b"null")]))
    run = await write(lambda c: claim_next(c, owner="me", now=clock(), lease_expires_at=clock()))
    await write(lambda c: finish(c, run, RunStatus.SUCCESS, now=clock()))
    assert await write(lambda c: stream_parts.forget(c, ended_before=clock())) == 0
    assert await write(lambda c: stream_parts.forget(c, ended_before=clock.advance(1))) == 1
    assert await write(lambda c: stream_parts.read(c, ended, PartId(0, 0))) == []
    assert len(await write(lambda c: stream_parts.read(c, open_run, PartId(0, 0)))) == 1
