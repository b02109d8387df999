"""Updates as Telegram sends them become events, or nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest
from telegram import Update

from channels.contract import (
    Addressed,
    ChatKind,
    ChoiceSelected,
    FileRef,
    InboundEvent,
    MessageEdited,
    MessageReceived,
    Sender,
    StopRequested,
)
from channels.telegram.ids import StopPress, callback_data
from channels.telegram.inbound import BotIdentity, Inbound

NOW = datetime(2026, 11, 30, tzinfo=UTC)
BOT = {"id": 42, "is_bot": True, "first_name": "Bridge", "username": "bridge_bot"}
ANA = {"id": 7, "is_bot": False, "first_name": "Ana", "last_name": "Li", "username": "ana"}
PRIVATE = {"id": 7, "type": "private", "first_name": "Ana"}
GROUP = {"id": -100, "type": "supergroup", "title": "Team"}


def message(chat: dict[str, Any] = PRIVATE, **fields: Any) -> dict[str, Any]:
    return {"message_id": 5, "date": 1_790_000_000, "chat": chat, "from": ANA, **fields}


def read(draft_runs: dict[int, str] | None = None, **update: Any) -> InboundEvent | None:
    inbound = Inbound(BotIdentity(42, "bridge_bot"), draft_runs or {})
    return inbound.event(Update.de_json({"update_id": 900, **update}, None), NOW)


def received(chat: dict[str, Any] = PRIVATE, **fields: Any) -> MessageReceived:
    event = read(message=message(chat, **fields))
    assert isinstance(event, MessageReceived)
    return event


def mention(text: str, offset: int, length: int) -> dict[str, Any]:
    return {"text": text, "entities": [{"type": "mention", "offset": offset, "length": length}]}


def test_a_private_message() -> None:
    event = received(text="hi")
    assert str(event.conversation) == "telegram:42:7:"
    assert event.chat_kind is ChatKind.PRIVATE
    assert event.sender == Sender("7", "Ana Li", "ana")
    assert (event.dedupe_key, event.message_id, event.addressed) == ("900", "5", Addressed.DM)
    assert event.occurred_at == datetime.fromtimestamp(1_790_000_000, UTC)


@pytest.mark.parametrize(
    ("fields", "text", "addressed"),
    [
        (mention("@Bridge_Bot what now", 0, 11), "what now", Addressed.MENTION),
        (mention("what now @bridge_bot", 9, 11), "what now @bridge_bot", Addressed.MENTION),
        (mention("😀 @bridge_bot", 3, 11), "😀 @bridge_bot", Addressed.MENTION),
        (mention("@other_bot hi", 0, 10), "@other_bot hi", Addressed.AMBIENT),
        (mention("@bridge_bot /stop", 0, 11), "/stop", Addressed.COMMAND),
        ({"text": "/stop@bridge_bot now"}, "/stop now", Addressed.COMMAND),
        ({"text": "/stop"}, "/stop", Addressed.COMMAND),
        ({"text": "/stop@other_bot"}, "/stop@other_bot", Addressed.AMBIENT),
        ({"text": "/mnt/user-data/x is odd"}, "/mnt/user-data/x is odd", Addressed.AMBIENT),
        ({"text": "just talking"}, "just talking", Addressed.AMBIENT),
        (
            {"text": "Bridge, hi", "entities": [{"type": "text_mention", "offset": 0, "length": 6, "user": BOT}]},
            "hi",
            Addressed.MENTION,
        ),
        (
            {"text": "yes", "reply_to_message": {**message(GROUP, text="q"), "message_id": 4, "from": BOT}},
            "yes",
            Addressed.REPLY,
        ),
        (
            {"text": "yes", "reply_to_message": {**message(GROUP, text="q"), "message_id": 4}},
            "yes",
            Addressed.AMBIENT,
        ),
    ],
)
def test_how_it_is_addressed_in_a_group(fields: dict[str, Any], text: str, addressed: Addressed) -> None:
    event = received(GROUP, **fields)
    assert (event.text, event.addressed) == (text, addressed)
    assert event.chat_kind is ChatKind.GROUP


def test_a_path_in_private_is_chat_and_a_command_is_one() -> None:
    assert received(text="/mnt/user-data/outputs/a.txt please read").addressed is Addressed.DM
    assert received(text="/start payload").addressed is Addressed.COMMAND


def test_the_topic_counts_only_where_there_are_topics() -> None:
    assert received(GROUP, text="x", message_thread_id=31, is_topic_message=True).conversation.topic == "31"
    assert received(GROUP, text="x", message_thread_id=31).conversation.topic == ""
    assert received(text="x", message_thread_id=8, is_topic_message=True).conversation.topic == "8"


def test_the_message_that_opened_a_topic_is_no_message_replied_to() -> None:
    opening = {**message(GROUP), "message_id": 31, "from": BOT, "forum_topic_created": {"name": "T", "icon_color": 1}}
    event = received(GROUP, text="x", message_thread_id=31, is_topic_message=True, reply_to_message=opening)
    assert (event.reply_to, event.addressed) == (None, Addressed.AMBIENT)


def test_documents_captions_and_albums() -> None:
    document = {"file_id": "F", "file_unique_id": "u", "file_name": "a.csv", "mime_type": "text/csv", "file_size": 9}
    event = received(document=document, caption="read this", media_group_id="g1")
    assert event.files == (FileRef("F", "a.csv", "text/csv", 9),)
    assert (event.text, event.group) == ("read this", "g1")


def test_the_largest_size_of_a_photo_is_taken() -> None:
    sizes = [
        {"file_id": f"P{width}", "file_unique_id": "u", "width": width, "height": width, "file_size": width}
        for width in (90, 1280, 320)
    ]
    (file,) = received(photo=sizes).files
    assert file == FileRef("P1280", "photo_5.jpg", "image/jpeg", 1280)


def test_a_mention_in_a_caption_addresses_the_bot() -> None:
    document = {"file_id": "F", "file_unique_id": "u"}
    entities = [{"type": "mention", "offset": 0, "length": 11}]
    event = received(GROUP, document=document, caption="@bridge_bot read", caption_entities=entities)
    assert (event.addressed, event.text, event.files[0].name) == (Addressed.MENTION, "read", "document_5")


def test_an_edit() -> None:
    event = read(edited_message=message(text="better", edit_date=1_790_000_060))
    assert isinstance(event, MessageEdited)
    assert (event.message_id, event.text) == ("5", "better")
    assert event.occurred_at == datetime.fromtimestamp(1_790_000_060, UTC)


def press(data: str, **fields: Any) -> InboundEvent | None:
    query = {"id": "q", "from": ANA, "chat_instance": "i", "data": data, "message": message(GROUP, text="?"), **fields}
    return read(callback_query=query)


def test_a_press_on_an_option() -> None:
    event = press("c:Tok:0+2")
    assert isinstance(event, ChoiceSelected)
    assert (event.token, event.option, event.sender.id) == ("Tok", 2, "7")
    assert str(event.conversation) == "telegram:42:-100:"


def test_a_press_on_stop() -> None:
    event = press(callback_data(StopPress("run-1")))
    assert isinstance(event, StopRequested)
    assert event.run_id == "run-1"


def test_a_press_under_an_old_message_still_counts() -> None:
    event = press("c:Tok:0+0", message={"chat": GROUP, "message_id": 5, "date": 0})
    assert isinstance(event, ChoiceSelected)


def test_a_press_without_a_message_or_with_foreign_data_is_none_of_ours() -> None:
    assert press("c:Tok:0+0", message=None, inline_message_id="i") is None
    assert press("foreign") is None


def test_telegrams_own_stop_names_the_run_of_the_draft() -> None:
    stopped = {"chat": PRIVATE, "draft_id": 77}
    event = read({77: "run-1"}, stopped_message_generation=stopped)
    assert isinstance(event, StopRequested)
    assert (event.run_id, event.sender.id, event.dedupe_key) == ("run-1", "7", "900")
    unknown = read(stopped_message_generation=stopped)
    assert isinstance(unknown, StopRequested)
    assert unknown.run_id is None


def test_anonymous_admins_speak_as_the_group() -> None:
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    event = received(GROUP, **{"text": "hi", "from": anonymous, "sender_chat": GROUP})
    assert event.sender == Sender("-100", "Team")


@pytest.mark.parametrize(
    "update",
    [
        {"message": {**message(text="I"), "from": BOT}},
        {"message": {**message(text="other bot"), "from": {**BOT, "id": 43}}},
        {"message": message(GROUP, text="as a channel", sender_chat={"id": -200, "type": "channel", "title": "News"})},
        {"message": message(new_chat_title="new")},
        {"message": message({"id": -200, "type": "channel", "title": "News"}, text="post")},
        {"channel_post": message({"id": -200, "type": "channel", "title": "News"}, text="post")},
        {"edited_channel_post": message({"id": -200, "type": "channel", "title": "News"}, text="post")},
        {"business_message": message(text="business")},
        {"edited_message": message(location={"latitude": 1, "longitude": 1})},
        {"message_from_the_future": {"anything": True}},
        {"stopped_message_generation": {"chat": "odd"}},
        {},
    ],
)
def test_everything_else_is_nothing_for_us(update: dict[str, Any]) -> None:
    assert read(**update) is None
