"""What the bot sends is kept, shown and refused as on the real server."""

import aiohttp
import pytest
import telegram
from telegram import InlineKeyboardButton, InlineKeyboardMarkup, InputMediaDocument, InputMediaPhoto, MessageEntity
from telegram.error import BadRequest, Forbidden, TelegramError

from tests.simulators.telegram import Person, TelegramSimulator

pytestmark = pytest.mark.asyncio(loop_scope="module")
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x08\x08\x02\x00\x00\x00"


async def violations_of(simulator: TelegramSimulator, person: Person) -> list:
    """The rules broken in calls to this person's chat."""
    violations = await simulator.violations()
    return [one for one in violations if str(one["parameters"].get("chat_id")) == str(person.id)]


def keyboard(*data: str) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup([[InlineKeyboardButton(f"Button {one}", callback_data=one)] for one in data])


async def test_a_text_is_sent_edited_and_deleted_before_the_persons_eyes(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    (asked,) = await ana.send("hello")
    sent = await bot.send_message(ana.id, "Working", reply_to_message_id=asked["message_id"])
    await bot.edit_message_text("Done", chat_id=ana.id, message_id=sent.message_id)
    shown = (await simulator.chat(ana.id)).last
    assert shown is not None
    assert (shown.text, shown.reply_to) == ("Done", asked["message_id"])
    assert [edit.text for edit in shown.edits] == ["Working", "Done"]
    assert shown.edits[0].at <= shown.edits[1].at
    await bot.delete_message(ana.id, sent.message_id)
    assert (await simulator.chat(ana.id)).from_bot == ()
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await bot.edit_message_text("Again", chat_id=ana.id, message_id=sent.message_id)
    assert await violations_of(simulator, ana) == []


async def test_an_unchanged_edit_is_refused_but_breaks_no_rule(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    sent = await bot.send_message(ana.id, "same", reply_markup=keyboard("a"))
    with pytest.raises(BadRequest, match="Message is not modified: specified new message content and reply markup"):
        await bot.edit_message_text("same\n", chat_id=ana.id, message_id=sent.message_id, reply_markup=keyboard("a"))
    await bot.edit_message_text("same", chat_id=ana.id, message_id=sent.message_id)
    shown = (await simulator.chat(ana.id)).last
    assert shown is not None
    assert shown.markup is None
    assert await violations_of(simulator, ana) == []


async def test_only_the_bots_own_messages_can_be_edited(bot: telegram.Bot, ana: Person):
    (sent,) = await ana.send("mine")
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await bot.edit_message_text("yours", chat_id=ana.id, message_id=sent["message_id"])


@pytest.mark.parametrize(
    ("text", "options", "refusal"),
    [
        ("", {}, "Message text is empty"),
        (" \n ", {}, "Message text is empty"),
        ("x" * 4097, {}, "Message is too long"),
        ("😀" * 2049, {}, "Message is too long"),
        ("hello", {"reply_to_message_id": 999}, "Message to be replied not found"),
        ("hello", {"message_thread_id": 77}, "Message thread not found"),
        ("hello", {"reply_markup": keyboard("x" * 65)}, "Button_data_invalid"),
        ("hello", {"reply_markup": keyboard("é" * 33)}, "Button_data_invalid"),
        ("hello", {"reply_markup": keyboard(*map(str, range(101)))}, "Reply markup is too long"),
        ("<b>open", {"parse_mode": "HTML"}, "can't find end tag corresponding to start tag"),
        ("1. one", {"parse_mode": "MarkdownV2"}, "character '.' is reserved"),
    ],
)
async def test_refusals_use_the_real_servers_words(
    bot: telegram.Bot, ana: Person, text: str, options: dict, refusal: str
):
    with pytest.raises(BadRequest, match=refusal):
        await bot.send_message(ana.id, text, **options)


async def test_lengths_are_counted_after_parsing_in_utf16(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    await bot.send_message(ana.id, f"<b>{'😀' * 2048}</b>", parse_mode="HTML")
    shown = (await simulator.chat(ana.id)).last
    assert shown is not None
    assert shown.entities == ({"type": "bold", "offset": 0, "length": 4096},)


async def test_a_missing_reply_target_may_be_allowed(bot: telegram.Bot, ana: Person):
    parameters = telegram.ReplyParameters(999, allow_sending_without_reply=True)
    assert (await bot.send_message(ana.id, "hello", reply_parameters=parameters)).reply_to_message is None


async def test_wrong_parameters_are_refused_and_recorded(ana: Person, simulator: TelegramSimulator):
    wrong = [
        ({"chat_id": ana.id, "text": "x", "colour": "red"}, "unknown parameter colour"),
        ({"chat_id": ana.id}, "parameter text is required"),
        ({"chat_id": ana.id, "text": 5}, "can't parse parameter text"),
        ({"chat_id": ana.id, "text": "x", "protect_content": "maybe"}, "protect_content must be Boolean"),
        ({"chat_id": ana.id, "text": "x", "reply_parameters": {"message": 1}}, "has unknown fields ['message']"),
        ({"chat_id": ana.id, "text": "x", "entities": "[{"}, "JSON expected"),
    ]
    async with aiohttp.ClientSession() as session:
        for body, reason in wrong:
            async with session.post(f"{simulator.base_url}/bot{simulator.token}/sendMessage", json=body) as reply:
                assert reply.status == 400
                assert reason in (await reply.json())["description"]
    assert len(await violations_of(simulator, ana)) == len(wrong)
    assert (await simulator.chat(ana.id)).from_bot == ()


async def test_parameters_may_come_by_query_form_multipart_or_json(ana: Person, simulator: TelegramSimulator):
    url = f"{simulator.base_url}/bot{simulator.token}/SENDmessage"
    values = {"chat_id": str(ana.id), "text": "x", "link_preview_options": '{"is_disabled": true}'}
    with_file = aiohttp.FormData({**values, "text": "multipart"})
    with_file.add_field("unused", b"x", filename="x.bin")
    async with aiohttp.ClientSession() as session:
        await session.get(url, params={**values, "text": "query"})
        await session.post(url, data={**values, "text": "form"})
        await session.post(url, data=with_file)
        await session.post(url, json={"chat_id": ana.id, "text": "json", "link_preview_options": {"is_disabled": True}})
    assert [message.text for message in (await simulator.chat(ana.id)).from_bot] == [
        "query",
        "form",
        "multipart",
        "json",
    ]


@pytest.mark.parametrize(
    ("text", "entities", "problem"),
    [
        ("😀 x", [("bold", 1, 2)], "surrogate pair"),
        ("😀", [("bold", 0, 1)], "surrogate pair"),
        ("abc", [("bold", 2, 2)], "outside the text"),
        ("abc", [("bold", 0, 0)], "outside the text"),
        ("abcdef", [("bold", 0, 3), ("italic", 2, 3)], "overlap"),
        ("abcdef", [("pre", 0, 6), ("bold", 1, 2)], "can't be part of pre"),
        ("abcdef", [("blockquote", 0, 6), ("blockquote", 1, 2)], "can't be part of blockquote"),
        ("a" * 200, [("bold", offset, 1) for offset in range(101)], "more than 100"),
        ("abc", [("text_link", 0, 3)], "wrong fields"),
    ],
)
async def test_entities_are_checked(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator, text: str, entities: list, problem: str
):
    with pytest.raises(BadRequest, match=problem):
        await bot.send_message(ana.id, text, entities=[MessageEntity(*entity) for entity in entities])
    assert len(await violations_of(simulator, ana)) == 1


async def test_sound_entities_are_shown_and_mentions_found(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    entities = [MessageEntity("bold", 0, 7), MessageEntity("italic", 3, 4), MessageEntity("code", 9, 8)]
    await bot.send_message(ana.id, "😀 bold! @in_code @someone /go", entities=entities)
    shown = (await simulator.chat(ana.id)).last
    assert shown is not None
    kinds = [(entity["type"], entity["offset"], entity["length"]) for entity in shown.entities]
    assert kinds == [("bold", 0, 7), ("italic", 3, 4), ("code", 9, 8), ("mention", 18, 8), ("bot_command", 27, 3)]


async def test_a_press_carries_its_data_and_is_answered_in_time(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    sent = await bot.send_message(ana.id, "Which?", reply_markup=keyboard("red", "blue"))
    query_id = await ana.press_label(sent.message_id, "Button blue")
    query = (await bot.get_updates(timeout=2, offset=-1))[0].callback_query
    assert (query.data, query.from_user.id, query.message.message_id) == ("blue", ana.id, sent.message_id)
    await query.answer("Blue it is", show_alert=True)
    assert [(shown["text"], shown["show_alert"]) for shown in await simulator.press_answers(query_id)] == [
        ("Blue it is", True)
    ]
    with pytest.raises(BadRequest, match="Query is too old and response timeout expired or query id is invalid"):
        await bot.answer_callback_query("12345")


async def test_only_the_listed_reactions_are_taken(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    (sent,) = await ana.send("hello")
    await bot.set_message_reaction(ana.id, sent["message_id"], "👀")
    assert (await simulator.chat(ana.id)).message(sent["message_id"]).reaction_of(simulator.bot_id) == "👀"
    await bot.set_message_reaction(ana.id, sent["message_id"], [])
    assert (await simulator.chat(ana.id)).message(sent["message_id"]).reaction_of(simulator.bot_id) is None
    with pytest.raises(BadRequest, match="Reaction_invalid"):
        await bot.set_message_reaction(ana.id, sent["message_id"], "✅")


async def test_files_go_out_with_their_bytes(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    document = await bot.send_document(
        ana.id, b"a,b\n", filename="report.csv", caption="<i>here</i>", parse_mode="HTML"
    )
    await bot.send_photo(ana.id, PNG, filename="chart.png")
    shown = (await simulator.chat(ana.id)).from_bot
    assert shown[0].file is not None
    assert (shown[0].text, shown[0].file["name"]) == ("here", "report.csv")
    assert await simulator.file(shown[0].file["file_id"]) == b"a,b\n"
    again = await bot.send_document(ana.id, document.document.file_id)
    assert again.document.file_unique_id == document.document.file_unique_id
    with pytest.raises(BadRequest, match="File must be non-empty"):
        await bot.send_document(ana.id, b"", filename="empty.txt")
    with pytest.raises(BadRequest, match="Image_process_failed"):
        await bot.send_photo(ana.id, b"no picture", filename="x.png")
    with pytest.raises(BadRequest, match="caption is too long"):
        await bot.send_document(ana.id, b"x", filename="x", caption="x" * 1025)


async def test_albums_hold_two_to_ten_of_a_kind(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    await bot.send_media_group(ana.id, [InputMediaPhoto(PNG, caption="one"), InputMediaPhoto(PNG)])
    first, second = (await simulator.chat(ana.id)).from_bot
    assert first.album == second.album is not None
    with pytest.raises(BadRequest, match="can't be mixed"):
        await bot.send_media_group(ana.id, [InputMediaPhoto(PNG), InputMediaDocument(b"x")])
    with pytest.raises(TelegramError, match="Wrong number of messages"):
        await bot.send_media_group(ana.id, [InputMediaPhoto(PNG)])


async def test_topics_exist_or_are_refused(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    forum = await simulator.group(ana, forum=True)
    topic = await bot.create_forum_topic(forum, "Research")
    await bot.send_message(forum, "in there", message_thread_id=topic.message_thread_id)
    shown = (await simulator.chat(forum)).last
    assert shown is not None
    assert shown.topic == topic.message_thread_id
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_message(forum, "General has no id of its own", message_thread_id=1)
    with pytest.raises(BadRequest, match="The chat is not a forum"):
        await bot.create_forum_topic(ana.id, "Private")
    await simulator.set_bot(topics_in_private=True)
    private = await bot.create_forum_topic(ana.id, "Private")
    await bot.send_message(ana.id, "in private", message_thread_id=private.message_thread_id)


async def test_chats_the_bot_is_not_in_are_closed_to_it(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    shy = await simulator.person("Shy", started=False)
    with pytest.raises(Forbidden, match="bot can't initiate conversation with a user"):
        await bot.send_message(shy.id, "hello")
    with pytest.raises(BadRequest, match="Chat not found"):
        await bot.send_message(123, "hello")
    group = await simulator.group(ana)
    assert (await bot.get_chat(group)).title == "Team"
    assert (await bot.get_chat_member(group, ana.id)).status == "creator"
    await bot.leave_chat(group)
    with pytest.raises(Forbidden, match="bot is not a member of the supergroup chat"):
        await bot.send_message(group, "hello")
    await simulator.set_bot_status(group, "kicked", by=ana)
    with pytest.raises(Forbidden, match="bot was kicked from the supergroup chat"):
        await bot.send_message(group, "hello")


async def test_the_command_menu_is_kept(bot: telegram.Bot, simulator: TelegramSimulator):
    await bot.set_my_commands([("help", "What I can do"), ("stop", "Stop")])
    assert [command.command for command in await bot.get_my_commands()] == ["help", "stop"]
    with pytest.raises(BadRequest, match="Bot_command_invalid"):
        await bot.set_my_commands([("Help!", "x")])


async def test_every_call_is_logged_with_its_outcome(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    await bot.send_message(ana.id, "hello")
    with pytest.raises(BadRequest):
        await bot.send_message(ana.id, "")
    first, second = (await simulator.calls("sendMessage"))[-2:]
    assert (first["parameters"]["text"], first["outcome"]) == ("hello", "ok")
    assert second["outcome"] == "400 Bad Request: message text is empty"
    assert first["began"] <= first["ended"]
