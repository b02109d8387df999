"""A chat goes on under another id with everything that belongs to it."""

from dataclasses import replace
from datetime import timedelta

from bridge import moved_chats
from bridge.persistence import clarifications, conversations, deliveries, inbox, runs, threads
from bridge.persistence.clarifications import AskedBy, ClarificationRecord
from bridge.persistence.database import Database
from bridge.persistence.deliveries import DeliveryState, NewDelivery
from bridge.persistence.inbox import EventState
from bridge.runs.records import NewRun
from channels.contract import (
    ChatKind,
    Clarification,
    ConversationKey,
    DeliveryReceipt,
    Notice,
    NoticeKind,
    Piece,
    PieceState,
    Reply,
    ReplyPhase,
)
from tests.bridge.conftest import StandingClock
from tests.bridge.people import message

OLD = ConversationKey("demo", "bot", "-5")
NEW = replace(OLD, chat="-100")
TOPIC, NEW_TOPIC = replace(OLD, topic="7"), replace(NEW, topic="7")
OTHERS = [replace(OLD, chat="-50"), replace(OLD, account="bot2"), replace(OLD, channel="demo2")]


async def opened(database: Database, clock: StandingClock, key: ConversationKey, thread_id: str) -> None:
    def work(connection) -> None:
        threads.insert(connection, thread_id, assistant_id="lead", user_id="ann", now=clock(), metadata={})
        conversations.ensure(connection, key, ChatKind.GROUP, "ann", now=clock())
        conversations.point_at(connection, key, thread_id, now=clock())
        conversations.set_settings(connection, key, {"model": thread_id}, now=clock())

    await database.write(work)


async def thread_of(database: Database, key: ConversationKey) -> tuple[str | None, str | None]:
    record = await database.read(lambda c: conversations.find(c, key))
    return (record.thread_id, record.settings["model"]) if record else (None, None)


async def move(database: Database, clock: StandingClock) -> None:
    await database.write(lambda c: moved_chats.move(c, OLD, NEW.chat, now=clock()))


def notice(delivery_id: str, key: ConversationKey) -> NewDelivery:
    body = Reply((Notice(NoticeKind.INFO, "hello"),), ReplyPhase.FINAL)
    return NewDelivery(delivery_id, key, ChatKind.GROUP, reply_to="31", body=body)


async def claimed(database: Database, clock: StandingClock) -> dict[str, deliveries.DeliveryRecord]:
    until = clock() + timedelta(seconds=30)
    records = await database.write(
        lambda c: deliveries.claim_due(c, owner="me", now=clock(), lease_expires_at=until, limit=9)
    )
    return {record.id: record for record in records}


async def test_conversations_keep_thread_and_settings_in_every_topic_and_other_chats_stay(
    database: Database, clock: StandingClock
) -> None:
    for number, key in enumerate([OLD, TOPIC, *OTHERS]):
        await opened(database, clock, key, f"t{number}")
    await move(database, clock)
    assert [await thread_of(database, key) for key in (NEW, NEW_TOPIC, OLD, TOPIC)] == [
        ("t0", "t0"),
        ("t1", "t1"),
        (None, None),
        (None, None),
    ]
    assert [(await thread_of(database, key))[0] for key in OTHERS] == ["t2", "t3", "t4"]
    await move(database, clock)
    assert await thread_of(database, NEW) == ("t0", "t0")


async def test_a_message_that_was_faster_than_the_news_begins_no_other_thread(
    database: Database, clock: StandingClock
) -> None:
    await opened(database, clock, OLD, "the-old-one")
    clock.advance(1)
    await opened(database, clock, NEW, "begun-too-soon")
    await move(database, clock)
    assert await thread_of(database, NEW) == ("the-old-one", "the-old-one")
    clock.advance(1)
    await opened(database, clock, OLD, "come-too-late")
    await move(database, clock)
    assert await thread_of(database, NEW) == ("the-old-one", "the-old-one")
    assert await thread_of(database, OLD) == (None, None)


async def test_what_was_not_decided_yet_is_decided_in_the_new_place(database: Database, clock: StandingClock) -> None:
    said = message("hi", conversation=OLD, chat_kind=ChatKind.GROUP)
    event_id = await database.write(lambda c: inbox.insert(c, said, now=clock(), available_at=clock()))
    done = message("done", conversation=OLD, chat_kind=ChatKind.GROUP)
    done_id = await database.write(lambda c: inbox.insert(c, done, now=clock(), available_at=clock()))
    await database.write(lambda c: inbox.settle(c, [done_id], EventState.DECIDED, now=clock()))
    await move(database, clock)
    (waiting,) = await database.read(lambda c: inbox.undecided(c, NEW))
    assert (waiting.id, waiting.event) == (event_id, replace(said, conversation=NEW))
    assert await database.read(inbox.open_conversations) == [str(NEW)]


async def test_what_is_owed_is_shown_whole_in_the_new_place_and_its_former_holder_falls_silent(
    database: Database, clock: StandingClock
) -> None:
    await opened(database, clock, OLD, "t")
    await database.write(lambda c: deliveries.insert(c, notice("owed", OLD), now=clock()))
    await database.write(lambda c: deliveries.insert(c, notice("done", OLD), now=clock()))
    held = await claimed(database, clock)
    pieces = (
        Piece("text:0", PieceState.SENT, "900", "x"),
        Piece("text:1", PieceState.FAILED, "901", "x"),
        Piece("text:2", PieceState.ATTEMPTING, digest="x"),
    )
    await database.write(lambda c: deliveries.record(c, held["owed"], "me", DeliveryReceipt(), DeliveryReceipt(pieces)))
    await database.write(lambda c: deliveries.finish(c, held["done"], "me", DeliveryState.SENT, now=clock()))
    await move(database, clock)
    assert not await database.write(lambda c: deliveries.finish(c, held["owed"], "me", DeliveryState.SENT, now=clock()))
    assert await database.write(lambda c: deliveries.renew(c, "me", ["owed"], lease_expires_at=clock())) == set()
    (again,) = (await claimed(database, clock)).values()
    assert (again.id, again.conversation, again.reply_to) == ("owed", NEW, None)
    receipt = await database.read(lambda c: deliveries.receipt_of(c, "owed"))
    assert [piece.slot for piece in receipt.pieces] == ["text:2"]


async def test_an_answer_whose_question_is_open_is_asked_again_in_the_new_place(
    database: Database, clock: StandingClock
) -> None:
    await opened(database, clock, OLD, "t")

    def ask(connection) -> None:
        for run_id, token in (("run-1", "open"), ("run-2", None)):
            runs.insert(connection, run_id, NewRun("t"), now=clock())
            owed = NewDelivery(run_id, OLD, ChatKind.GROUP, run_id=run_id)
            deliveries.insert(connection, owed, now=clock())
            if token:
                question = ClarificationRecord(
                    Clarification(token, "Which?"), run_id, "call", "t", AskedBy.QUESTION, "ann"
                )
                clarifications.ensure(connection, question, now=clock())

    await database.write(ask)
    for record in (await claimed(database, clock)).values():
        await database.write(
            lambda c, record=record: deliveries.finish(c, record, "me", DeliveryState.SENT, now=clock())
        )
    await move(database, clock)
    assert list(await claimed(database, clock)) == ["run-1"]
