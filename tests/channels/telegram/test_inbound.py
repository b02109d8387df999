"""Updates as Telegram sends them become events, or nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest
from telegram import Update

from channels.contract import (
    Addressed,
    ChatKind,
    ChoiceSelected,
    ConversationKey,
    FileRef,
    InboundEvent,
    MessageEdited,
    MessageReceived,
    Sender,
    StopRequested,
)
from channels.telegram.ids import StopPress, callback_data
from channels.telegram.inbound import BotIdentity, ChatMove, Inbound, Joined

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


_PLACE = {"latitude": 47.37, "longitude": 8.54}
_STICKER = {"file_id": "S", "file_unique_id": "u", "type": "regular", "width": 512, "height": 512, "file_size": 9}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"location": _PLACE}, "[Location: latitude 47.37, longitude 8.54]"),
        ({"location": {**_PLACE, "live_period": 900}}, "[Location: latitude 47.37, longitude 8.54]"),
        (
            {"location": _PLACE, "venue": {"location": _PLACE, "title": "Station", "address": "Square 1"}},
            "[Place: Station, Square 1 (latitude 47.37, longitude 8.54)]",
        ),
        ({"contact": {"phone_number": "+41445550100", "first_name": "Kim", "last_name": "Lee"}}, "[Contact: Kim Lee, +41445550100]"),
        ({"contact": {"phone_number": "+1", "first_name": "Kim"}}, "[Contact: Kim, +1]"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "[Dice 🎲: 4]"),
        ({"sticker": {**_STICKER, "is_animated": True, "is_video": False, "emoji": "😀", "set_name": "Cats"}}, "[Sticker: 😀 Cats]"),
        (
            {
                "poll": {
                    "id": "1", "question": "When?", "total_voter_count": 0, "is_closed": False, "is_anonymous": True,
                    "type": "regular", "allows_multiple_answers": False, "allows_revoting": False, "members_only": False,
                    "options": [{"text": text, "voter_count": 0, "persistent_id": text} for text in ("Today", "Later")],
                }
            },
            "[Poll: When? Today / Later]",
        ),
    ],
)  # fmt: skip
def test_what_is_neither_text_nor_file_is_a_line(fields: dict[str, Any], text: str) -> None:
    event = received(**fields)
    assert (event.text, event.files) == (text, ())


@pytest.mark.parametrize(
    ("kind", "extra", "name", "mime_type"),
    [
        ("video", {"width": 1, "height": 1, "duration": 1, "mime_type": "video/mp4"}, "video_5.mp4", "video/mp4"),
        ("audio", {"duration": 1, "file_name": "song.flac", "mime_type": "audio/flac"}, "song.flac", "audio/flac"),
        ("voice", {"duration": 1, "mime_type": "audio/ogg"}, "voice_5.ogg", "audio/ogg"),
        ("video_note", {"length": 1, "duration": 1}, "video_note_5.mp4", None),
        (
            "sticker",
            {**_STICKER, "is_animated": False, "is_video": False, "emoji": "😀"},
            "sticker_5.webp",
            "image/webp",
        ),
    ],
)
def test_every_kind_of_file_has_a_name(kind: str, extra: dict[str, Any], name: str, mime_type: str | None) -> None:
    (file,) = received(**{kind: {"file_id": "S", "file_unique_id": "u", "file_size": 9, **extra}}).files
    assert file == FileRef("S", name, mime_type, 9)


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
    assert event.sender == Sender("-100", "Team", is_anonymous=True)


def test_who_writes_as_a_channel_is_that_channel_and_what_it_publishes_is_for_its_readers() -> None:
    news = {"id": -200, "type": "channel", "title": "News", "username": "news"}
    channel_bot = {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}
    post = {"text": "@bridge_bot hi", "from": channel_bot, "sender_chat": news}
    assert received(GROUP, **post).sender == Sender("-200", "News", "news", is_anonymous=True)
    assert read(message=message(GROUP, **post, is_automatic_forward=True)) is None


def moved(**update: Any) -> ChatMove | None:
    return Inbound(BotIdentity(42, "bridge_bot"), {}).move(Update.de_json({"update_id": 900, **update}, None))


def test_a_group_that_moves_says_so_on_both_sides() -> None:
    old, group = ConversationKey("telegram", "42", "-5"), {"id": -5, "type": "group", "title": "Team"}
    assert moved(message=message(group, migrate_to_chat_id=-100)) == ChatMove(old, "-100")
    assert moved(message=message(GROUP, migrate_from_chat_id=-5)) == ChatMove(old, "-100")
    assert moved(message=message(GROUP, text="hi")) is None
    assert moved(edited_message=message(GROUP, text="hi")) is None


def membership(was: str, now: str, chat: dict[str, Any] = GROUP, by: dict[str, Any] = ANA) -> Joined | None:
    def member(status: str) -> dict[str, Any]:
        rights = {"until_date": 0} if status == "kicked" else {}
        return {"user": BOT, "status": status, **rights}

    change = {"chat": chat, "from": by, "date": 1, "old_chat_member": member(was), "new_chat_member": member(now)}
    update = Update.de_json({"update_id": 900, "my_chat_member": change}, None)
    assert read(my_chat_member=change) is None
    return Inbound(BotIdentity(42, "bridge_bot"), {}).joined(update)


def test_who_has_put_the_bot_into_a_group() -> None:
    group = ConversationKey("telegram", "42", "-100")
    assert membership("left", "member") == Joined(group, Sender("7", "Ana Li", "ana"))
    assert membership("kicked", "member") == Joined(group, Sender("7", "Ana Li", "ana"))
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    assert membership("left", "member", by=anonymous) == Joined(group, Sender("-100", "Team", is_anonymous=True))
    for was, now, chat in (("member", "left", GROUP), ("member", "kicked", GROUP), ("kicked", "member", PRIVATE)):
        assert membership(was, now, chat) is None


@pytest.mark.parametrize(
    "update",
    [
        {"message": {**message(text="I"), "from": BOT}},
        {"message": {**message(text="other bot"), "from": {**BOT, "id": 43}}},
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
