"""The threshold: who may speak, what was here before, what is stored before it is acknowledged."""

import asyncio
import logging
from dataclasses import replace

import pytest
from sqlalchemy import func, select

from bridge.clock import utc_now
from bridge.dispatch.access import IfAdmitted, Refusal, judge
from bridge.inbox.config import InboxConfig
from bridge.persistence import deliveries, inbox
from bridge.persistence.database import Database
from bridge.persistence.tables import inbound_events
from channels.contract import (
    Access,
    Addressed,
    ChannelSection,
    ChannelUnavailable,
    ChatKind,
    Membership,
    Outcome,
    ReceiptSign,
)
from tests.bridge.inbox.conftest import Inbox
from tests.bridge.people import ANN, CHAT, message, press

STRANGER = replace(ANN, id="eve", membership=Membership.OUTSIDER)


@pytest.mark.parametrize(
    ("section", "membership", "may"),
    [
        (ChannelSection(access="open"), Membership.OUTSIDER, True),
        (ChannelSection(access="members"), Membership.MEMBER, True),
        (ChannelSection(access="members"), Membership.GUEST, False),
        (ChannelSection(access="members"), Membership.UNKNOWN, False),
        (ChannelSection(access="list"), Membership.MEMBER, False),
        (ChannelSection(access="list", allowed_users=["ann"]), Membership.UNKNOWN, True),
        (ChannelSection(access="list", admins=["ann"]), Membership.UNKNOWN, True),
        (ChannelSection(access="list", allowed_users=["bob"]), Membership.MEMBER, False),
        (ChannelSection(access="pairing", allowed_users=["ann"]), Membership.UNKNOWN, True),
    ],
)
def test_who_may_speak(section: ChannelSection, membership: Membership, *, may: bool) -> None:
    objection = judge(section, replace(ANN, membership=membership))
    assert (objection is None) is may
    assert may or (isinstance(objection, Refusal) and "ann" in objection.text)


def test_pairing_leaves_it_to_the_admins() -> None:
    assert judge(ChannelSection(access=Access.PAIRING), ANN) == IfAdmitted()


async def test_an_event_is_stored_before_submit_returns(house: Inbox) -> None:
    said = message("hi")
    accepted = await house.intake.submit(said)
    assert accepted.outcome is Outcome.ACCEPTED
    stored = await house.database.read(lambda c: inbox.find(c, accepted.event_id))
    assert stored is not None
    assert stored.event == said


async def test_a_redelivery_is_a_duplicate_even_when_many_come_at_once(house: Inbox) -> None:
    said = message("hi")
    outcomes = await asyncio.gather(*(house.intake.submit(said) for _ in range(5)))
    assert sorted(accepted.outcome for accepted in outcomes) == ["accepted", *["duplicate"] * 4]
    stored = select(func.count()).select_from(inbound_events)
    assert await house.database.read(lambda c: c.execute(stored).scalar_one()) == 1


async def test_what_is_not_said_to_the_bot_is_not_stored(house: Inbox) -> None:
    said = message("hi", addressed=Addressed.AMBIENT, chat_kind=ChatKind.GROUP)
    accepted = await house.intake.submit(said)
    assert accepted.outcome is Outcome.REFUSED
    assert await house.database.read(inbox.count_open) == 0


async def test_a_stranger_is_told_once_a_day_and_only_in_private(database: Database) -> None:
    house = Inbox(database, InboxConfig(), ChannelSection(access=Access.LIST))
    with house.signals.watch("deliveries") as watch:
        for said in ("hi", "hello?"):
            assert (await house.intake.submit(message(said, STRANGER))).outcome is Outcome.REFUSED
        assert await watch.wait(0)
    await house.intake.submit(message("hi", STRANGER, chat_kind=ChatKind.GROUP, conversation=replace(CHAT, chat="g")))
    await house.intake.submit(press("tok", 0, STRANGER))
    owed = await database.write(
        lambda c: deliveries.claim_due(c, owner="me", now=utc_now(), lease_expires_at=utc_now(), limit=9)
    )
    (delivery,) = owed
    assert delivery.conversation == CHAT
    assert delivery.body is not None
    assert "eve" in delivery.body.parts[0].text
    assert await database.read(inbox.count_open) == 0


async def test_the_operator_is_told_whom_the_bot_refused_once_a_day_and_not_what_was_said(
    house: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    """Symptom: somebody said that the bot did not answer, and nothing said why."""
    group = {"chat_kind": ChatKind.GROUP, "conversation": replace(CHAT, chat="g")}
    with caplog.at_level(logging.INFO, "bridge.inbox"):
        for _ in range(2):
            await house.intake.submit(message("my secret", STRANGER))
            await house.intake.submit(message("my secret", STRANGER, **group))
        await house.intake.submit(message("hello"))
    assert [record.getMessage() for record in caplog.records] == [
        f"refused eve in {CHAT}: not among those who may speak here",
        f"refused eve in {group['conversation']}: not among those who may speak here",
    ]
    assert {record.levelname for record in caplog.records} == {"INFO"}


async def test_a_message_gets_its_sign_and_a_platform_that_fails_costs_only_that(house: Inbox) -> None:
    house.start()
    house.door.failures = [ChannelUnavailable("down"), ValueError("odd")]
    for text in ("a", "b", "c"):
        await house.intake.submit(message(text, message_id=text))
    async with asyncio.timeout(4):
        signs = [await house.door.signs.get() for _ in range(3)]
    assert sorted(signs, key=lambda sign: sign[1]) == [(CHAT, text, ReceiptSign.SEEN) for text in ("a", "b", "c")]
    await house.intake.submit(press("tok"))
    assert house.door.signs.empty()


@pytest.mark.parametrize(("group", "seconds"), [("album", 0.5), (None, 2.0)])
async def test_a_message_waits_for_company_as_configured(database: Database, group: str | None, seconds: float) -> None:
    house = Inbox(database, InboxConfig(album_seconds=0.5, debounce_seconds=2), ChannelSection())
    before = utc_now()
    accepted = await house.intake.submit(message("hi", group=group))
    stored = await database.read(lambda c: inbox.find(c, accepted.event_id))
    assert stored is not None
    assert seconds <= (stored.available_at - before).total_seconds() < seconds + 5
    pressed = await house.intake.submit(press("tok"))
    stored = await database.read(lambda c: inbox.find(c, pressed.event_id))
    assert stored is not None
    assert stored.available_at <= utc_now()
