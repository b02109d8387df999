"""The rows of `deliveries`: owed, taken by one, recorded piece by piece, let go."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from bridge.errors import LeaseExpired
from bridge.persistence import deliveries, runs
from bridge.persistence.deliveries import DeliveryRecord, DeliveryState, NewDelivery
from channels.contract import ChatKind, DeliveryReceipt, Piece, PieceState, Reply, ReplyPhase, Text
from tests.bridge.conftest import StandingClock
from tests.bridge.people import CHAT
from tests.bridge.persistence.conftest import MakeRun, Write

BODY = Reply((Text("a", "hello ✓"),), ReplyPhase.FINAL)


class Office:
    """Where deliveries are owed and taken."""

    def __init__(self, write: Write, clock: StandingClock) -> None:
        self.write, self.clock = write, clock

    async def owe(self, name: str, **details: object) -> bool:
        new = NewDelivery(name, CHAT, ChatKind.GROUP, **({"body": BODY} | details))
        return await self.write(lambda c: deliveries.insert(c, new, now=self.clock()))

    async def claim(self, owner: str = "me", *dead: str, limit: int = 10) -> Sequence[DeliveryRecord]:
        until = self.clock() + timedelta(seconds=30)
        return await self.write(
            lambda c: deliveries.claim_due(
                c, owner=owner, now=self.clock(), lease_expires_at=until, limit=limit, from_owners=dead
            )
        )

    async def names(self, owner: str = "me", *dead: str, limit: int = 10) -> list[str]:
        return [record.id for record in await self.claim(owner, *dead, limit=limit)]

    async def finish(
        self, record: DeliveryRecord, owner: str = "me", state: DeliveryState = DeliveryState.SENT
    ) -> bool:
        return await self.write(lambda c: deliveries.finish(c, record, owner, state, now=self.clock()))


@pytest.fixture
def office(write: Write, clock: StandingClock) -> Office:
    return Office(write, clock)


async def test_what_is_owed_is_owed_once_and_comes_back_whole(office: Office) -> None:
    assert await office.owe("d-1", reply_to="m-1")
    assert not await office.owe("d-1", reply_to="m-2")
    (record,) = await office.claim()
    assert (record.id, record.conversation, record.chat_kind, record.reply_to, record.run_id) == (
        "d-1",
        CHAT,
        ChatKind.GROUP,
        "m-1",
        None,
    )
    assert (record.body, record.state, record.epoch, record.attempts) == (BODY, DeliveryState.PENDING, 1, 0)


async def test_the_oldest_are_taken_first_and_only_once(office: Office) -> None:
    for name in ("b", "a", "c"):
        await office.owe(name)
        office.clock.advance(1)
    assert await office.names(limit=2) == ["b", "a"]
    assert await office.names() == ["c"]
    assert await office.names() == []


async def test_a_delivery_is_taken_over_when_its_lease_is_over_or_its_owner_is_dead(office: Office) -> None:
    await office.owe("d")
    (first,) = await office.claim("one")
    assert await office.names("two") == []
    (second,) = await office.claim("two", "one")
    office.clock.advance(31)
    (third,) = await office.claim("three")
    assert first.epoch < second.epoch < third.epoch
    assert not await office.finish(first, "one")
    assert not await office.finish(second, "two")
    assert await office.finish(third, "three")


async def test_a_renewed_lease_is_kept(office: Office, write: Write) -> None:
    await office.owe("d")
    await office.claim("one")
    later = office.clock() + timedelta(seconds=60)
    assert await write(lambda c: deliveries.renew(c, "one", ["d", "e"], lease_expires_at=later)) == {"d"}
    assert await write(lambda c: deliveries.renew(c, "two", ["d"], lease_expires_at=later)) == set()
    office.clock.advance(31)
    assert await office.names("two") == []


async def test_a_receipt_is_kept_piece_by_piece_in_order(office: Office, write: Write) -> None:
    await office.owe("d")
    (record,) = await office.claim()
    one = DeliveryReceipt((Piece("text-0", PieceState.ATTEMPTING, digest="x"),))
    two = one.with_piece(Piece("text-0", PieceState.SENT, "m-1", "x")).with_piece(
        Piece("file-0", PieceState.ATTEMPTING)
    )
    await write(lambda c: deliveries.record(c, record, "me", DeliveryReceipt(), one))
    assert await write(lambda c: deliveries.receipt_of(c, "d")) == one
    await write(lambda c: deliveries.record(c, record, "me", one, two))
    assert await write(lambda c: deliveries.receipt_of(c, "d")) == two
    assert await write(lambda c: deliveries.receipt_of(c, "other")) == DeliveryReceipt()


async def test_a_former_owner_records_nothing(office: Office, write: Write) -> None:
    await office.owe("d")
    (former,) = await office.claim("one")
    await office.claim("two", "one")
    receipt = DeliveryReceipt((Piece("text-0", PieceState.SENT, "m-1"),))
    with pytest.raises(LeaseExpired):
        await write(lambda c: deliveries.record(c, former, "one", DeliveryReceipt(), receipt))
    assert await write(lambda c: deliveries.receipt_of(c, "d")) == DeliveryReceipt()


async def test_what_is_done_or_failed_is_not_taken_again(office: Office) -> None:
    for state in (DeliveryState.SENT, DeliveryState.FAILED):
        await office.owe(state)
        (record,) = await office.claim()
        assert await office.finish(record, state=state)
    office.clock.advance(3600)
    assert await office.names() == []


async def test_what_is_put_off_comes_back_later_and_counted(office: Office, write: Write) -> None:
    await office.owe("d")
    (record,) = await office.claim()
    until = office.clock() + timedelta(seconds=5)
    await write(lambda c: deliveries.put_off(c, record, "me", until=until, error="why", now=office.clock()))
    assert await office.names() == []
    office.clock.advance(5)
    (again,) = await office.claim()
    assert again.attempts == 1
    await write(lambda c: deliveries.put_off(c, record, "me", until=until, error="stale", now=office.clock()))
    assert await office.finish(again)


async def test_an_answer_that_changed_is_shown_again(office: Office, write: Write, make_run: MakeRun) -> None:
    run_id = await make_run()
    assert not await write(lambda c: deliveries.reopen(c, run_id, now=office.clock()))
    await office.owe("d", body=None, run_id=run_id)
    (record,) = await office.claim()
    await office.finish(record)
    office.clock.advance(1)
    assert await write(lambda c: deliveries.reopen(c, run_id, now=office.clock()))
    (again,) = await office.claim()
    assert (again.run_id, again.attempts) == (run_id, 0)
    assert again.epoch > record.epoch


async def test_a_delivery_under_way_finishes_before_it_is_shown_again(
    office: Office, write: Write, make_run: MakeRun
) -> None:
    run_id = await make_run()
    await office.owe("d", body=None, run_id=run_id)
    (record,) = await office.claim()
    office.clock.advance(1)
    assert await write(lambda c: deliveries.reopen(c, run_id, now=office.clock()))
    assert await office.names("other") == []
    receipt = DeliveryReceipt((Piece("text-0", PieceState.SENT, "m-1"),))
    await write(lambda c: deliveries.record(c, record, "me", DeliveryReceipt(), receipt))
    assert not await office.finish(record)
    assert await office.names("other") == ["d"]


async def test_an_answer_waits_behind_those_of_earlier_turns_that_are_done(
    office: Office, write: Write, make_run: MakeRun
) -> None:
    first, second = await make_run(), await make_run()
    elsewhere = await make_run("another")
    for run_id in (first, second, elsewhere):
        await office.owe(run_id, body=None, run_id=run_id)

    async def is_behind(run_id: str) -> bool:
        return await write(lambda c: deliveries.is_behind(c, run_id))

    assert not await is_behind(second)
    await write(lambda c: runs.end_pending(c, first, now=office.clock()))
    assert [await is_behind(run_id) for run_id in (first, second, elsewhere)] == [False, True, False]
    record = next(record for record in await office.claim() if record.id == first)
    await office.finish(record)
    assert not await is_behind(second)
