"""The inbox and the database from the command line."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bridge.config import load_config
from bridge.operations import tasks_under_way
from bridge.persistence import inbox, leases
from bridge.persistence.database import open_database
from bridge.persistence.inbox import EventState
from bridge.persistence.schema import bootstrap_schema
from channels.contract import Addressed, ChatKind, ConversationKey, MessageReceived, Sender

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _event(number: int) -> MessageReceived:
    return MessageReceived(
        conversation=ConversationKey("web", "here", f"chat{number}"),
        chat_kind=ChatKind.PRIVATE,
        sender=Sender("someone"),
        dedupe_key=str(number),
        occurred_at=NOW,
        message_id=str(number),
        text="hello",
        addressed=Addressed.DM,
    )


async def _bury_two(home) -> list[int]:
    home.mkdir()
    database = open_database(None, home)
    await bootstrap_schema(database.engine, backend=database.backend)

    def bury(connection):
        ids = [inbox.insert(connection, _event(number), now=NOW, available_at=NOW) for number in range(3)]
        for event_id in ids[:2]:
            inbox.postpone(connection, event_id, until=NOW, error="it was too much", bury=True)
        return ids[:2]

    try:
        return await database.write(bury)
    finally:
        await database.close()


async def _state(home, event_id) -> EventState:
    database = open_database(None, home)
    try:
        return (await database.read(lambda connection: inbox.find(connection, event_id))).state
    finally:
        await database.close()


@pytest.fixture
def buried(tmp_path) -> list[int]:
    return asyncio.run(_bury_two(tmp_path / ".threadbridge"))


def test_buried_messages_are_listed_with_their_reason_and_none_of_their_text(threadbridge, buried):
    lines = threadbridge("inbox", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [str(event_id) for event_id in buried]
    assert "web:here:chat0:" in lines[0]
    assert "it was too much" in lines[0]
    assert "hello" not in lines[0]


def test_a_retried_message_waits_again_and_a_dropped_one_does_not(threadbridge, buried, tmp_path):
    assert threadbridge("inbox", "retry", str(buried[0])).returncode == 0
    assert threadbridge("inbox", "drop", str(buried[1])).returncode == 0
    home = tmp_path / ".threadbridge"
    assert asyncio.run(_state(home, buried[0])) is EventState.RECEIVED
    assert asyncio.run(_state(home, buried[1])) is EventState.DROPPED
    assert threadbridge("inbox", "list").stdout == "nothing is buried\n"


def test_a_message_that_is_not_buried_cannot_be_retried(threadbridge, buried):
    done = threadbridge("inbox", "retry", "4711")
    assert done.returncode == 1
    assert "there is no buried event 4711" in done.stderr


def test_db_status_counts_what_waits(threadbridge, buried, tmp_path):
    said = threadbridge("db", "status").stdout
    assert str(tmp_path / ".threadbridge" / "threadbridge.db") in said
    assert "1 waiting, 2 buried" in said


def test_doctor_mentions_buried_messages(threadbridge, buried):
    assert "warn  inbox: 2 messages could not be handled" in threadbridge("doctor").stdout


def test_what_a_running_replica_is_at_is_known_until_its_lease_is_over(tmp_path):
    home = tmp_path / ".threadbridge"
    config = load_config(None, {})
    assert asyncio.run(tasks_under_way(replace(config, home=home))) == ()

    async def hold() -> None:
        home.mkdir()
        database = open_database(None, home)
        await bootstrap_schema(database.engine, backend=database.backend)
        now = datetime.now(UTC)
        for task, seconds in (("now", 60), ("over", -1)):
            until = now + timedelta(seconds=seconds)
            await database.write(
                lambda c, task=task, until=until: leases.take(c, task, "me", now=now, expires_at=until)
            )
        await database.close()

    asyncio.run(hold())
    assert asyncio.run(tasks_under_way(replace(config, home=home))) == ["now"]


def test_looking_makes_no_database(threadbridge, tmp_path):
    assert "none yet" in threadbridge("db", "status").stdout
    assert threadbridge("inbox", "list").stdout == "nothing is buried\n"
    assert not (tmp_path / ".threadbridge").exists()
