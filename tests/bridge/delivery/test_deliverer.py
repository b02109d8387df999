"""The deliverer: every answer that is owed stands in the end, whatever the platform does."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from bridge.clock import utc_now
from bridge.delivery.composer import DROPPED
from bridge.persistence import deliveries, runs
from bridge.persistence.database import Database
from bridge.persistence.deliveries import DeliveryState, NewDelivery
from bridge.persistence.tables import deliveries as deliveries_table
from channels.contract import (
    ChannelUnavailable,
    ChatGone,
    ChatKind,
    ContentRejected,
    ConversationKey,
    Notice,
    NoticeKind,
    OutcomeUnknown,
    PieceState,
    RateLimited,
    Reply,
    ReplyPhase,
    Text,
)
from tests.bridge.delivery.conftest import Door, Post, StartPost
from tests.bridge.people import CHAT

BODY = Reply((Text("a", "hello"),), ReplyPhase.FINAL)


async def until_shown(post: Post, text: str) -> None:
    async with asyncio.timeout(4):
        while text not in post.door.texts():  # noqa: ASYNC110  the door must not know who waits
            await asyncio.sleep(0.005)


async def until_asked(post: Post, times: int) -> None:
    async with asyncio.timeout(4):
        while len(post.door.receipts) < times:  # noqa: ASYNC110  the door must not know who waits
            await asyncio.sleep(0.005)


async def test_an_answer_of_the_house_is_delivered_once(post: Post) -> None:
    await post.owe(body=BODY, reply_to="m-7")
    await post.settled()
    assert post.door.shown == [BODY]
    target = post.door.targets[0]
    assert (target.delivery_id, target.conversation, target.reply_to) == ("d", CHAT, "m-7")
    (piece,) = (await post.database.read(lambda c: deliveries.receipt_of(c, "d"))).pieces
    assert (piece.state, piece.message_id) == (PieceState.SENT, "m-1")


async def test_a_runs_answer_grows_in_one_message(post: Post) -> None:
    run, stream = await post.begin()
    post.say(stream, "Hello")
    await until_shown(post, "Hello")
    post.say(stream, "Hello again", "b")
    await until_shown(post, "HelloHello again")
    await post.end(run, stream, BODY)
    await post.settled(run.run_id)
    assert post.door.posted == ["m-1"]
    assert post.door.shown[-1].is_final
    assert post.door.texts()[-1] == "HelloHello again"
    assert post.door.active > 0


@pytest.mark.parametrize(("door", "streaming"), [(Door(), False), (Door(streams=False), True)])
async def test_without_streaming_only_the_last_snapshot_is_shown(
    start: StartPost, door: Door, *, streaming: bool
) -> None:
    post = start(replace(door, shown=[], targets=[], receipts=[], posted=[]), streaming=streaming)
    run, stream = await post.begin()
    post.say(stream, "Hello")
    await asyncio.sleep(0.03)
    assert post.door.shown == []
    await post.end(run, stream, BODY)
    await post.settled(run.run_id)
    assert [reply.is_final for reply in post.door.shown] == [True]


async def test_who_waits_is_told_behind_how_many_and_then_sees_the_answer(post: Post) -> None:
    first, first_stream = await post.begin()
    waiting, _ = await post.begin(claim=False)
    await post.posted(waiting.run_id)
    (notice,) = next(reply.parts for reply in post.door.shown if reply.phase is ReplyPhase.QUEUED)
    assert notice == Notice(NoticeKind.WAITING, "Waiting: one message is answered first.")
    await post.end(first, first_stream, BODY)
    claimed = await post.database.write(
        lambda c: runs.claim_next(c, owner="me", now=utc_now(), lease_expires_at=utc_now() + timedelta(hours=1))
    )
    assert claimed is not None
    stream = post.hub.open(claimed)
    post.say(stream, "second")
    await until_shown(post, "second")
    await post.end(claimed, stream, BODY)
    await post.settled(waiting.run_id)


async def test_without_streaming_who_waits_is_told_so_and_then_sees_the_answer_alone(start: StartPost) -> None:
    """Symptom: with `streaming: false` nothing said that a message waited."""
    post = start(streaming=False)
    first, first_stream = await post.begin()
    waiting, _ = await post.begin(claim=False)
    await post.posted(waiting.run_id)
    assert [reply.phase for reply in post.door.shown] == [ReplyPhase.QUEUED]
    await post.end(first, first_stream, BODY)
    claimed = await post.database.write(
        lambda c: runs.claim_next(c, owner="me", now=utc_now(), lease_expires_at=utc_now() + timedelta(hours=1))
    )
    assert claimed is not None
    stream = post.hub.open(claimed)
    post.say(stream, "second")
    await asyncio.sleep(0.05)
    await post.end(claimed, stream, BODY)
    await post.settled(waiting.run_id)
    shown = [reply.phase for reply in post.door.shown if reply.run_id == waiting.run_id]
    assert shown == [ReplyPhase.QUEUED, ReplyPhase.FINAL]
    assert post.door.posted == ["m-1", "m-2"]


async def test_a_turn_stopped_while_it_waits_says_so(post: Post) -> None:
    await post.begin()
    waiting, _ = await post.begin(claim=False)
    await post.database.write(lambda c: runs.end_pending(c, waiting.run_id, now=utc_now()))
    post.signals.notify("thread:t")
    await post.settled(waiting.run_id)
    assert post.door.shown[-1].parts == (Notice(NoticeKind.STOPPED, DROPPED),)


async def test_silence_the_platform_asks_for_is_kept_and_the_newest_shown_after_it(start: StartPost) -> None:
    """Symptom: an answer whose first update came too soon was invisible until something new happened."""
    post = start(Door(failures=[RateLimited("slow", retry_after_seconds=0.08)]))
    run, stream = await post.begin()
    post.say(stream, "one")
    post.say(stream, "two", "b")
    await until_asked(post, 1)
    refused = time.monotonic()
    await until_shown(post, "onetwo")
    assert time.monotonic() - refused >= 0.07
    await post.end(run, stream, BODY)
    await post.settled(run.run_id)


@pytest.mark.parametrize(
    ("failure", "times"),
    [(ChannelUnavailable("down"), 4), (RateLimited("slow", retry_after_seconds=0.01), 4), (OSError("odd"), 1)],
)
async def test_what_the_platform_may_take_later_stands_in_the_end(
    start: StartPost, failure: Exception, times: int
) -> None:
    post = start(Door(failures=[failure] * times))
    await post.owe(body=BODY)
    row = await post.put_off()
    assert row.state == DeliveryState.PENDING
    assert row.error
    assert row.available_at > utc_now() - timedelta(seconds=5)
    await post.due()
    await post.settled()
    assert post.door.texts() == ["hello"]


async def test_an_unknown_outcome_is_not_repeated_in_haste_nor_given_up(start: StartPost) -> None:
    post = start(Door(failures=[OutcomeUnknown("502")]))
    await post.owe(body=BODY)
    await post.put_off()
    assert len(post.door.receipts) == 1
    await post.due()
    await post.settled()
    assert post.door.texts() == ["hello"]


async def test_an_update_that_failed_does_not_end_the_answer(start: StartPost) -> None:
    """Symptom: one refused intermediate snapshot cost the whole answer."""
    post = start(Door(failures=[ContentRejected("not parsable"), OutcomeUnknown("502"), ChannelUnavailable("down")]))
    run, stream = await post.begin()
    for number, text in enumerate(("one", "two", "three")):
        post.say(stream, text, text)
        await until_asked(post, number + 1)
    await post.end(run, stream, BODY)
    await post.settled(run.run_id)
    assert post.door.texts()[-1] == "onetwothree"


@pytest.mark.parametrize("failure", [ChatGone("blocked"), ContentRejected("never")])
async def test_what_the_platform_will_never_take_is_given_up_with_its_reason(
    start: StartPost, failure: Exception
) -> None:
    post = start(Door(failures=[failure]))
    await post.owe(body=BODY)
    await post.settled(state=DeliveryState.FAILED)
    assert len(post.door.receipts) == 1


async def test_after_a_crash_while_posting_the_heir_knows_what_may_stand_there(start: StartPost) -> None:
    gone = asyncio.Event()
    dying = start(Door(), owner="dead")
    dying.door.after_post = lambda: gone.set() or _die()
    await dying.owe(body=BODY)
    await asyncio.wait_for(gone.wait(), 4)
    await dying.put_off()
    await dying.deliverer.stop(patience_seconds=0)
    heir = start(Door(), owner="heir")
    await heir.due()
    await heir.settled()
    (piece,) = heir.door.receipts[0].pieces
    assert (piece.state, piece.message_id) == (PieceState.ATTEMPTING, None)


async def test_a_delivery_under_way_in_a_dead_process_goes_on_in_the_same_message(start: StartPost) -> None:
    dead = start(Door(), owner="dead")
    run, stream = await dead.begin()
    dead.say(stream, "Hello")
    await dead.posted(run.run_id)
    heir = start(Door(posted=["m-1"]), owner="heir", dead=("dead",))
    heir.hub._live[run.run_id] = stream
    await until_shown(heir, "Hello")
    assert heir.door.receipts[0].pieces[0].message_id == "m-1"
    assert heir.door.posted == ["m-1"]
    dead.deliverer._leases._leases[run.run_id].lose()
    shown = len(dead.door.shown)
    await heir.end(run, stream, BODY)
    await heir.settled(run.run_id)
    assert len(dead.door.shown) == shown


async def test_a_settled_question_is_shown_in_the_message_that_asked(post: Post) -> None:
    run, stream = await post.begin()
    post.say(stream, "Which?")
    await post.end(run, stream, BODY)
    await post.settled(run.run_id)
    assert await post.database.write(lambda c: deliveries.reopen(c, run.run_id, now=utc_now()))
    post.signals.notify("deliveries")
    await until_shown(post, "hello")
    await post.settled(run.run_id)
    assert post.door.posted == ["m-1"]
    assert post.door.shown[-1] == BODY


async def test_a_stopping_process_gives_its_deliveries_back(start: StartPost) -> None:
    first = start(owner="first")
    run, stream = await first.begin()
    first.say(stream, "Hello")
    await first.posted(run.run_id)
    await first.deliverer.stop(patience_seconds=0)
    second = start(Door(posted=["m-1"]), owner="second")
    second.hub._live[run.run_id] = stream
    await until_shown(second, "Hello")
    assert second.door.posted == ["m-1"]


async def test_an_answer_for_a_door_that_is_closed_waits(post: Post) -> None:
    await post.owe(body=BODY, key=ConversationKey("closed", "bot", "chat"))
    assert (await post.put_off()).state == DeliveryState.PENDING


@pytest.mark.parametrize(
    "values", [{"body": '{"parts": [{"kind": "poem", "text": "secret"}]}'}, {"conversation": "nowhere"}]
)
async def test_a_delivery_that_cannot_be_read_is_given_up_and_holds_no_other_up(
    database: Database, start: StartPost, caplog: pytest.LogCaptureFixture, values: dict[str, str]
) -> None:
    """Symptom: nobody was shown anything any more."""
    t, now = deliveries_table, utc_now()
    bad = NewDelivery("bad", CHAT, ChatKind.PRIVATE, body=BODY)
    await database.write(lambda c: deliveries.insert(c, bad, now=now))
    await database.write(lambda c: c.execute(update(t).where(t.c.id == "bad").values(**values)))
    post = start()
    await post.owe("good", body=BODY)
    await post.settled("good")
    await post.settled("bad", DeliveryState.FAILED)
    told = [record.getMessage() for record in caplog.records if "bad" in record.getMessage()]
    assert len(told) == 1
    assert "secret" not in told[0]


def _die() -> None:
    raise OSError("the process died before it could note what it had posted")
