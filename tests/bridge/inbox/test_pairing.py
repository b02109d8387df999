"""Letting people in: a code for an unknown person, an admin's word, and what is kept of it."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from bridge.clock import utc_now
from bridge.dispatch import pairing
from bridge.dispatch.dispatcher import Dispatcher, Rules
from bridge.inbox.config import InboxConfig
from bridge.persistence import people
from bridge.persistence.database import Database
from bridge.persistence.people import PersonKey
from bridge.persistence.tables import access_log, deliveries
from bridge.runs.config import RunsConfig
from channels.contract import (
    Access,
    ChannelSection,
    ChatKind,
    ConversationKey,
    InboundEvent,
    Outcome,
    Sender,
    Text,
    reply_from_json,
)
from tests.bridge.inbox.conftest import Inbox
from tests.bridge.people import ANN, CHAT, message, press

EVE = Sender("eve", "Eve")
ROOM = replace(CHAT, chat="eves-room")
SECTION = ChannelSection(access=Access.PAIRING, admins=["ann"])


@pytest.fixture
def house(database: Database) -> Inbox:
    return Inbox(database, InboxConfig(), SECTION)


def from_eve(text: str = "hi") -> InboundEvent:
    return message(text, EVE, conversation=ROOM)


async def told(database: Database, where: ConversationKey = ROOM) -> Sequence[str]:
    query = select(deliveries.c.body).where(deliveries.c.conversation == str(where)).order_by(deliveries.c.created_at)
    bodies = await database.read(lambda c: c.execute(query).scalars().all())
    parts = [reply_from_json(body).parts[0] for body in bodies]
    return [part.markdown if isinstance(part, Text) else part.text for part in parts]


async def code_of(database: Database, person: str = "eve") -> str:
    found = await database.read(lambda c: people.request_of(c, PersonKey("demo", "bot", person)))
    assert found is not None
    return found.code


async def log(database: Database) -> Sequence[tuple[str, str, str | None]]:
    query = select(access_log).order_by(access_log.c.id)
    return [(row.action, row.person_id, row.done_by) for row in await database.read(lambda c: c.execute(query).all())]


async def says(database: Database, text: str, person: Sender = ANN) -> str:
    """What the bot answers to this in the admin's chat."""
    before = await told(database, CHAT)
    house = Inbox(database, InboxConfig(), SECTION)
    assert (await house.intake.submit(message(text, person))).outcome is Outcome.ACCEPTED
    rules = Rules({"demo": SECTION}, RunsConfig(), InboxConfig(), "lead")
    await Dispatcher(database, rules, utc_now).decide_next(CHAT)
    return (await told(database, CHAT))[len(before)]


async def test_an_unknown_person_gets_one_code_and_is_answered_once_an_admin_gave_it(
    house: Inbox, database: Database
) -> None:
    for _ in range(3):
        assert (await house.intake.submit(from_eve())).outcome is Outcome.REFUSED
    (asked,) = await told(database)
    code = await code_of(database)
    assert len(code) == 8
    assert f"`{code}`" in asked
    assert f"`threadbridge access approve {code}`" in asked

    assert "Eve" in await says(database, f"/pair {code.lower()}")
    assert (await told(database))[1].startswith("You have been let in")
    assert (await house.intake.submit(from_eve())).outcome is Outcome.ACCEPTED
    assert await log(database) == [
        ("refused", "eve", None),
        ("asked", "eve", None),
        ("admitted", "eve", "demo:ann"),
    ]


async def test_the_operator_is_told_where_to_see_who_asks(house: Inbox, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bridge.inbox"):
        await house.intake.submit(from_eve())
        await house.intake.submit(message("hi", EVE, conversation=replace(CHAT, chat="g"), chat_kind=ChatKind.GROUP))
    in_private, in_group = caplog.messages
    assert in_private.endswith("`threadbridge access list` shows who asks to be let in")
    assert "access list" not in in_group


async def test_many_messages_of_one_stranger_at_once_get_one_code(house: Inbox, database: Database) -> None:
    await asyncio.gather(*(house.intake.submit(from_eve()) for _ in range(6)))
    (asked,) = await told(database)
    assert await code_of(database) in asked


async def test_an_admin_of_one_bot_lets_nobody_in_to_another(house: Inbox, database: Database) -> None:
    elsewhere = ConversationKey("demo", "other-bot", "room")
    await house.intake.submit(message("hi", EVE, conversation=elsewhere))
    (request,) = await database.read(people.requests)
    assert "Nobody waits with this code" in await says(database, f"/pair {request.code}")
    assert "Nobody waits to be let in" in await says(database, "/pair")
    assert len(await database.read(people.requests)) == 1


async def test_a_code_is_good_for_one_person_once(house: Inbox, database: Database) -> None:
    await house.intake.submit(from_eve())
    code = await code_of(database)
    await says(database, f"/pair {code}")
    assert "Nobody waits with this code" in await says(database, f"/pair {code}")
    mallory = message("hi", Sender("mallory"), conversation=replace(CHAT, chat="m"))
    assert (await house.intake.submit(mallory)).outcome is Outcome.REFUSED


async def test_a_code_is_over_after_an_hour_and_the_next_message_gets_another(database: Database) -> None:
    now = utc_now()
    first, _ = await database.write(lambda c: pairing.ask(c, from_eve(), now=now))
    later = now + timedelta(minutes=61)
    assert await database.write(lambda c: pairing.admit(c, first, by="x", now=later)) is None
    second, text = await database.write(lambda c: pairing.ask(c, from_eve(), now=later))
    assert second != first
    assert second in text


async def test_at_most_three_wait_and_the_next_is_asked_to_come_back(house: Inbox, database: Database) -> None:
    for number in range(4):
        where = replace(CHAT, chat=f"room-{number}")
        await house.intake.submit(message("hi", Sender(f"p{number}"), conversation=where))
    assert len(await database.read(people.requests)) == 3
    (text,) = await told(database, replace(CHAT, chat="room-3"))
    assert text.startswith("Several people are waiting")
    another = ConversationKey("demo", "other-bot", "room")
    await house.intake.submit(message("hi", Sender("p9"), conversation=another))
    assert len(await database.read(people.requests)) == 4


async def test_in_a_group_there_is_silence_and_a_line_in_the_log(house: Inbox, database: Database) -> None:
    group = replace(CHAT, chat="group")
    for _ in range(2):
        await house.intake.submit(message("hi", EVE, conversation=group, chat_kind=ChatKind.GROUP))
    assert await told(database, group) == []
    assert await database.read(people.requests) == []
    assert await log(database) == [("refused", "eve", None)]


async def test_a_press_of_somebody_unknown_is_refused_without_a_word(house: Inbox, database: Database) -> None:
    assert (await house.intake.submit(press("tok", 0, EVE, conversation=ROOM))).outcome is Outcome.REFUSED
    assert await told(database) == []


async def test_only_admins_let_people_in_and_help_names_it_to_them_alone(house: Inbox, database: Database) -> None:
    await house.intake.submit(from_eve())
    code = await code_of(database)
    await database.write(
        lambda c: people.admit(c, people.Person(PersonKey("demo", "bot", "bob"), "Bob", "x", utc_now()))
    )
    assert "for the admins" in await says(database, f"/pair {code}", Sender("bob", "Bob"))
    assert "/pair" not in await says(database, "/help", Sender("bob", "Bob"))
    assert "/pair" in await says(database, "/help")
    assert code in await says(database, "/pair")
    assert await code_of(database) == code


async def test_who_was_let_in_can_be_shut_out_again(house: Inbox, database: Database) -> None:
    await house.intake.submit(from_eve())
    await says(database, f"/pair {await code_of(database)}")
    eve = PersonKey("demo", "bot", "eve")
    assert await database.write(lambda c: pairing.revoke(c, eve, by="terminal", now=utc_now()))
    assert not await database.write(lambda c: pairing.revoke(c, eve, by="terminal", now=utc_now()))
    assert (await log(database))[-1] == ("revoked", "eve", "terminal")
    assert (await house.intake.submit(from_eve())).outcome is Outcome.REFUSED


async def test_a_declined_request_is_gone_and_the_person_is_told_nothing(house: Inbox, database: Database) -> None:
    await house.intake.submit(from_eve())
    code = await code_of(database)
    assert await database.write(lambda c: pairing.decline(c, code, by="terminal", now=utc_now())) is not None
    assert await database.read(people.requests) == []
    assert len(await told(database)) == 1
    assert (await log(database))[-1] == ("declined", "eve", "terminal")
