"""When the bot answers in a group, and what it is told of what was said before."""

from dataclasses import replace
from typing import Any

import pytest

from bridge.clock import utc_now
from bridge.conversation_settings import ConversationSettings
from bridge.inbox.config import InboxConfig
from bridge.persistence import conversations, inbox, threads
from bridge.persistence.database import Database
from bridge.runs.turn_input import said
from channels.contract import Addressed, ChannelSection, ChatKind, ConversationKey, MessageReceived, Outcome, Speaks
from tests.bridge.inbox.conftest import Inbox
from tests.bridge.people import ANN, BOB, CHAT, edit, message, taken_back

GROUP = replace(CHAT, chat="group")
TOPIC = replace(GROUP, topic="7")


def in_group(text: str = "hi", addressed: Addressed = Addressed.AMBIENT, **options: Any) -> MessageReceived:
    return message(text, **{"conversation": GROUP, "chat_kind": ChatKind.GROUP, "addressed": addressed, **options})


def house_with(database: Database, speaks: Speaks = Speaks.MENTION, overheard: int = 0) -> Inbox:
    return Inbox(database, InboxConfig(overheard_messages=overheard), ChannelSection(speaks=speaks))


async def taken(house: Inbox, event: Any) -> bool:
    return (await house.intake.submit(event)).outcome is Outcome.ACCEPTED


async def choose(database: Database, key: ConversationKey, speaks: Speaks | None, *, thread: bool = True) -> None:
    """Let the conversation exist, with this chosen for it."""

    def make(connection: Any) -> None:
        conversations.ensure(connection, key, ChatKind.GROUP, "ann", now=utc_now())
        if thread:
            threads.insert(connection, "t", assistant_id="a", user_id="u", now=utc_now())
            conversations.point_at(connection, key, "t", now=utc_now())
        chosen = ConversationSettings(speaks=speaks).as_stored()
        conversations.set_settings(connection, key, chosen, now=utc_now())

    await database.write(make)


@pytest.mark.parametrize(
    ("speaks", "addressed", "is_taken"),
    [
        (Speaks.MENTION, Addressed.AMBIENT, False),
        (Speaks.MENTION, Addressed.MENTION, True),
        (Speaks.MENTION, Addressed.REPLY, True),
        (Speaks.MENTION, Addressed.COMMAND, True),
        (Speaks.ALWAYS, Addressed.AMBIENT, True),
        (Speaks.NEVER, Addressed.MENTION, False),
        (Speaks.NEVER, Addressed.COMMAND, True),
    ],
)
async def test_as_configured(database: Database, speaks: Speaks, addressed: Addressed, *, is_taken: bool) -> None:
    assert await taken(house_with(database, speaks), in_group(addressed=addressed)) is is_taken


async def test_a_private_chat_is_always_answered(database: Database) -> None:
    assert await taken(house_with(database, Speaks.NEVER), message("hi"))


async def test_what_was_chosen_for_the_chat_wins(database: Database) -> None:
    house = house_with(database)
    await choose(database, GROUP, Speaks.ALWAYS)
    assert await taken(house, in_group())
    await choose(database, GROUP, Speaks.NEVER)
    assert not await taken(house, in_group(addressed=Addressed.MENTION))


async def test_in_a_topic_it_takes_part_in_nobody_has_to_mention_it(database: Database) -> None:
    house = house_with(database)
    assert not await taken(house, in_group(conversation=TOPIC))
    await choose(database, TOPIC, None)
    assert await taken(house, in_group(conversation=TOPIC))
    await choose(database, GROUP, None)
    assert not await taken(house, in_group())


async def test_when_called_it_is_told_the_last_words_once_and_only_those_of_the_place(database: Database) -> None:
    house = house_with(database, overheard=2)
    for text in ("one", "two", "three"):
        await taken(house, in_group(text))
    await taken(house, in_group("elsewhere", sender=BOB, conversation=TOPIC))
    accepted = await house.intake.submit(in_group("what do you think?", Addressed.MENTION))
    stored = await database.read(lambda c: inbox.find(c, accepted.event_id))
    assert stored is not None
    assert isinstance(stored.event, MessageReceived)
    assert stored.event.overheard == ("Ann: two", "Ann: three")
    told = said(stored.event)
    assert told.startswith("[Said here before, not to you:]\nAnn: two\nAnn: three\nAnn: what do you think?")
    accepted = await house.intake.submit(in_group("and now?", Addressed.MENTION))
    stored = await database.read(lambda c: inbox.find(c, accepted.event_id))
    assert stored is not None
    assert isinstance(stored.event, MessageReceived)
    assert stored.event.overheard == ()


async def test_by_default_nothing_is_overheard(database: Database) -> None:
    house = house_with(database)
    await taken(house, in_group("secret"))
    accepted = await house.intake.submit(in_group("hi", Addressed.MENTION))
    stored = await database.read(lambda c: inbox.find(c, accepted.event_id))
    assert stored is not None
    assert isinstance(stored.event, MessageReceived)
    assert stored.event.overheard == ()


async def test_a_change_of_what_was_never_said_to_it_is_nobodys_business(database: Database) -> None:
    house = house_with(database)
    for change in (edit("m-x", "new", ANN), taken_back("m-x", ANN)):
        assert not await taken(house, change)
    await taken(house, message("hi", message_id="m-x"))
    assert await taken(house, edit("m-x", "new", ANN))
