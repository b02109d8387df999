"""The worker: every event decided, in order, soon; what cannot be decided is buried."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from bridge.clock import utc_now
from bridge.dispatch.decision import Effects
from bridge.dispatch.dispatcher import NotYet
from bridge.errors import InvalidRequest, ShuttingDown
from bridge.inbox import worker
from bridge.persistence import conversations, deliveries, inbox, runs, transcript
from bridge.persistence.inbox import EventState
from bridge.persistence.tables import inbound_events
from bridge.runs.records import CancelAction
from channels.contract import ChannelUnavailable, ConversationKey, NoticeKind, event_to_json
from tests.bridge.inbox.conftest import Inbox
from tests.bridge.people import CHAT, message, press, stop


async def said(house: Inbox, key: ConversationKey = CHAT) -> list[str]:
    record = await house.database.read(lambda c: conversations.find(c, key))
    if record is None or record.thread_id is None:
        return []
    return [entry.text for entry in await house.database.read(lambda c: transcript.entries(c, record.thread_id))]


async def all_decided(house: Inbox) -> None:
    async with asyncio.timeout(4):
        while await house.database.read(inbox.count_open):  # noqa: ASYNC110  rows have no event
            await asyncio.sleep(0.01)


async def test_what_was_stored_before_the_start_is_decided(house: Inbox) -> None:
    await house.database.write(lambda c: inbox.insert(c, message("hi"), now=utc_now(), available_at=utc_now()))
    house.start()
    assert await house.told() == "wake"
    assert await said(house) == ["hi"]


async def test_events_are_decided_in_the_order_of_their_conversation(house: Inbox) -> None:
    house.start()
    elsewhere = replace(CHAT, chat="elsewhere")
    for number in range(6):
        await house.intake.submit(message(str(number), conversation=elsewhere if number % 2 else CHAT))
    await all_decided(house)
    assert await said(house) == ["0", "2", "4"]
    assert await said(house, elsewhere) == ["1", "3", "5"]


async def test_an_event_that_arrives_as_a_lane_ends_is_decided_at_once(
    house: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Symptom: now and then a message lay for five seconds before it was looked at."""
    decide, calls = house.dispatcher.decide_next, []

    async def decide_slowly(key: ConversationKey) -> Effects | NotYet | None:
        decision = await decide(key)
        calls.append(decision)
        if decision is None and len(calls) == 1:
            await house.intake.submit(message("just now"))
        return decision

    monkeypatch.setattr(house.dispatcher, "decide_next", decide_slowly)
    house.start()
    house.worker.wake(CHAT)
    assert await house.told() == "wake"


async def test_an_album_becomes_one_turn_when_its_last_picture_is_there(house: Inbox) -> None:
    house.start()
    for text in ("caption", ""):
        await house.intake.submit(message(text, group="album"))
    await house.told()
    record = await house.database.read(lambda c: conversations.find(c, CHAT))
    assert len(await house.database.read(lambda c: runs.open_on(c, record.thread_id))) == 1


async def test_a_press_gets_its_verdict_and_a_stop_reaches_the_queue(house: Inbox) -> None:
    await house.intake.submit(message("hi"))
    house.start()
    await house.told()
    claimed = await house.database.write(
        lambda c: runs.claim_next(c, owner="me", now=utc_now(), lease_expires_at=utc_now() + timedelta(hours=1))
    )
    house.door.failures = [ChannelUnavailable("down")]
    await house.intake.submit(press("no-such-token"))
    await house.intake.submit(stop(claimed.run_id))
    async with asyncio.timeout(4):
        _, refused = await house.door.verdicts.get()
        _, stopped = await house.door.verdicts.get()
    assert (refused.accepted, stopped.accepted) == (False, True)
    assert await house.told() == (claimed.run_id, CancelAction.INTERRUPT)


async def test_a_door_that_breaks_while_a_press_is_answered_holds_nothing_up(house: Inbox) -> None:
    house.start()
    house.door.failures = [ValueError("odd")]
    await house.intake.submit(press("no-such-token"))
    await house.intake.submit(message("hi"))
    assert await house.told() == "wake"


class Breaking:
    """A dispatcher that fails as often as it is told."""

    def __init__(self, house: Inbox, *errors: Exception) -> None:
        self.decide, self.errors = house.dispatcher.decide_next, list(errors)
        self.tried = 0

    async def __call__(self, key: ConversationKey) -> Effects | NotYet | None:
        self.tried += 1
        if self.errors:
            raise self.errors.pop()
        return await self.decide(key)


async def test_a_decision_that_failed_is_tried_again_later(house: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "timedelta", lambda seconds: timedelta(seconds=seconds / 100))
    breaking = Breaking(house, ShuttingDown("later"), ValueError("odd"))
    monkeypatch.setattr(house.dispatcher, "decide_next", breaking)
    accepted = await house.intake.submit(message("hi"))
    house.start()
    assert await house.told() == "wake"
    stored = await house.database.read(lambda c: inbox.find(c, accepted.event_id))
    assert stored is not None
    assert (stored.state, stored.attempts) == (EventState.DECIDED, 2)
    assert "later" in (stored.error or "")


@pytest.mark.parametrize(("error", "tries"), [(ValueError("odd"), 5), (InvalidRequest("never"), 1)])
async def test_what_cannot_be_decided_is_buried_with_a_word_and_the_next_goes_on(
    house: Inbox, monkeypatch: pytest.MonkeyPatch, error: Exception, tries: int
) -> None:
    monkeypatch.setattr(worker, "timedelta", lambda seconds: timedelta(seconds=seconds / 1000))
    breaking = Breaking(house, *[error] * tries)
    monkeypatch.setattr(house.dispatcher, "decide_next", breaking)
    await house.intake.submit(message("bad", message_id="m-bad"))
    await house.intake.submit(message("good"))
    with house.signals.watch("deliveries") as watch:
        house.start()
        assert await watch.wait(4)
    (buried,) = await house.database.read(inbox.buried)
    stored = await house.database.read(lambda c: inbox.find(c, buried.id))
    assert stored is not None
    assert (stored.event.text, buried.attempts) == ("bad", tries)
    owed = await house.database.write(
        lambda c: deliveries.claim_due(c, owner="me", now=utc_now(), lease_expires_at=utc_now(), limit=9)
    )
    (word,) = [delivery for delivery in owed if delivery.run_id is None]
    assert (word.conversation, word.reply_to) == (CHAT, "m-bad")
    assert [part.notice for part in word.body.parts] == [NoticeKind.ERROR]
    assert str(error) not in str(word.body)
    await house.told()
    assert await said(house) == ["good"]


async def store(house: Inbox, text: str) -> int:
    """Have a message in the inbox that no lane has been told of."""
    now = utc_now()
    event_id = await house.database.write(lambda c: inbox.insert(c, message(text), now=now, available_at=now))
    assert event_id is not None
    return event_id


async def rewrite(house: Inbox, event_id: int, **values: Any) -> None:
    """Let the row of an event stand as another program has left it."""
    change = update(inbound_events).where(inbound_events.c.id == event_id).values(**values)
    await house.database.write(lambda c: c.execute(change))


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ("{half a", "json_invalid"),
        ('{"kind": "poem_received", "text": "secret words"}', "union_tag_invalid"),
        ("null", "dict_type"),
    ],
)
async def test_an_event_that_cannot_be_read_is_buried_and_the_conversation_goes_on(
    house: Inbox, caplog: pytest.LogCaptureFixture, payload: str, why: str
) -> None:
    """Symptom: one such row silenced its conversation for ever, with a line in the log every five seconds."""
    await store(house, "before")
    house.start()
    await house.told()
    await house.worker.stop()
    bad = await store(house, "bad")
    await rewrite(house, bad, payload=payload)
    await store(house, "after")
    house.worker.start()
    await house.told()

    assert await said(house) == ["before", "after"]
    (buried,) = await house.database.read(inbox.buried)
    assert (buried.id, buried.conversation, buried.kind) == (bad, str(CHAT), "message_received")
    assert (buried.error or "").endswith(f"cannot be read by this version: all of it: {why}")
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == 1
    assert "secret" not in told[0] + str(buried.error)
    owed = await house.database.write(
        lambda c: deliveries.claim_due(c, owner="me", now=utc_now(), lease_expires_at=utc_now(), limit=9)
    )
    assert [delivery.id for delivery in owed if delivery.run_id is None] == [f"buried-{bad}"]


async def test_a_buried_event_that_can_be_read_again_is_decided(house: Inbox) -> None:
    event_id = await store(house, "hello")
    stored = await house.database.read(lambda c: inbox.find(c, event_id))
    await rewrite(house, event_id, payload="{}")
    house.start()
    async with asyncio.timeout(4):
        while not await house.database.read(inbox.buried):  # noqa: ASYNC110  rows have no event
            await asyncio.sleep(0.01)
    assert stored is not None
    await rewrite(house, event_id, payload=event_to_json(stored.event).decode())
    assert await house.database.write(lambda c: inbox.unbury(c, event_id, EventState.RECEIVED, now=utc_now()))
    house.signals.notify("inbox")
    await house.told()
    assert await said(house) == ["hello"]


async def test_what_belongs_to_no_conversation_is_buried(house: Inbox, caplog: pytest.LogCaptureFixture) -> None:
    await rewrite(house, await store(house, "lost"), conversation="nowhere")
    house.start()
    async with asyncio.timeout(4):
        while not await house.database.read(inbox.buried):  # noqa: ASYNC110  rows have no event
            await asyncio.sleep(0.01)
    house.signals.notify("inbox")
    await asyncio.sleep(0.05)
    assert sum("nowhere" in record.getMessage() for record in caplog.records) == 1
