"""A NUL in what people or models write costs nobody their message."""

from datetime import UTC, datetime

from bridge.persistence import inbox
from bridge.persistence.database import Database
from bridge.persistence.storable import storable
from channels.contract import Addressed, ChatKind, ConversationKey, FileRef, MessageReceived, Sender

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def test_every_text_is_cleared_and_every_other_value_kept() -> None:
    event = MessageReceived(
        conversation=ConversationKey("telegram", "1", "2"),
        chat_kind=ChatKind.PRIVATE,
        sender=Sender("2", "A\x00na"),
        dedupe_key="3",
        occurred_at=NOW,
        message_id="4",
        text="odd \x00 text \\u0000",
        addressed=Addressed.DM,
        files=(FileRef("r", "na\x00me.txt"),),
    )
    cleared = storable(event)
    assert (cleared.text, cleared.sender.name) == ("odd \ufffd text \\u0000", "A\ufffdna")
    assert cleared.files[0].name == "na\ufffdme.txt"
    assert (cleared.chat_kind, cleared.occurred_at) == (ChatKind.PRIVATE, NOW)
    assert type(cleared.chat_kind) is ChatKind
    assert storable({"a\x00": ["\x00", 1, None]}) == {"a\ufffd": ["\ufffd", 1, None]}


async def test_a_message_with_a_nul_is_stored(database: Database) -> None:
    key = ConversationKey("telegram", "1", "2")
    event = MessageReceived(
        conversation=key, chat_kind=ChatKind.PRIVATE, sender=Sender("2"), dedupe_key="3", occurred_at=NOW,
        message_id="4", text="a\x00b", addressed=Addressed.DM,
    )  # fmt: skip
    await database.write(lambda connection: inbox.insert(connection, event, now=NOW, available_at=NOW))
    (stored,) = await database.read(lambda connection: inbox.undecided(connection, key))
    assert isinstance(stored.event, MessageReceived)
    assert stored.event.text == "a\ufffdb"
