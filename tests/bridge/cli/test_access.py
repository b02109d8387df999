"""Who may write to the bot, from the command line."""

import asyncio
from datetime import UTC, datetime

import pytest

from bridge.dispatch import pairing
from bridge.persistence.database import open_database
from bridge.persistence.schema import bootstrap_schema
from channels.contract import Addressed, ChatKind, ConversationKey, MessageReceived, Sender


async def _ask(home) -> str:
    home.mkdir()
    database = open_database(None, home)
    await bootstrap_schema(database.engine, backend=database.backend)
    event = MessageReceived(
        conversation=ConversationKey("telegram", "4711", "815"),
        chat_kind=ChatKind.PRIVATE,
        sender=Sender("815", "Eve"),
        dedupe_key="1",
        occurred_at=datetime(2026, 1, 1, tzinfo=UTC),
        message_id="1",
        text="hello",
        addressed=Addressed.DM,
    )
    try:
        code, _ = await database.write(lambda c: pairing.ask(c, event, now=datetime.now(UTC)))
    finally:
        await database.close()
    return code


@pytest.fixture
def code(tmp_path) -> str:
    return asyncio.run(_ask(tmp_path / ".threadbridge"))


def test_who_asks_is_listed_and_let_in_by_the_code_and_shut_out_again(threadbridge, code):
    assert code in threadbridge("access", "list").stdout
    assert threadbridge("access", "approve", code.lower()).stdout == "Eve may write on telegram from now on\n"
    listed = threadbridge("access", "list").stdout
    assert listed.startswith("admitted  telegram 4711 815 Eve  by terminal")
    assert threadbridge("access", "revoke", "telegram", "4711", "815").returncode == 0
    assert threadbridge("access", "list").stdout == "nobody was let in, and nobody asks\n"


def test_a_request_can_be_declined(threadbridge, code):
    assert "Eve was not let in" in threadbridge("access", "decline", code).stdout
    assert threadbridge("access", "list").stdout == "nobody was let in, and nobody asks\n"


@pytest.mark.parametrize("asked", [("approve", "XXXXXXXX"), ("decline", "XXXXXXXX"), ("revoke", "telegram", "1", "2")])
def test_what_is_not_there_is_said_with_the_way_to_look(threadbridge, code, asked):
    ended = threadbridge("access", *asked)
    assert ended.returncode == 1
    assert "threadbridge access list" in ended.stderr


def test_looking_makes_no_database(threadbridge, tmp_path):
    assert threadbridge("access", "list").stdout == "nobody was let in, and nobody asks\n"
    assert threadbridge("access", "approve", "XXXXXXXX").returncode == 1
    assert not (tmp_path / ".threadbridge").exists()
