"""aiogram, which shares nothing with python-telegram-bot, reads what the simulator sends and sends what it accepts."""

import asyncio
import importlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import pytest
from aiohttp import web

from tests.simulators.telegram import Person, TelegramSimulator, Upload

KINDS = [
    "message",
    "edited_message",
    "callback_query",
    "my_chat_member",
    "message_reaction",
    "stopped_message_generation",
]
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000100000001008060000001ff3ff61")


@pytest.fixture(scope="module")
def aiogram() -> ModuleType:
    """The SDK; it takes seconds to import, so only whoever runs these tests does."""
    sdk: ModuleType = pytest.importorskip("aiogram", reason="aiogram is not installed (requirements-peers.lock)")
    for part in ("client.session.aiohttp", "client.telegram", "exceptions", "types", "webhook.aiohttp_server"):
        importlib.import_module(f"aiogram.{part}")
    return sdk


@asynccontextmanager
async def second_sdk(aiogram: ModuleType, simulator: TelegramSimulator, token: str | None = None) -> AsyncIterator[Any]:
    session = aiogram.client.session.aiohttp.AiohttpSession(
        api=aiogram.client.telegram.TelegramAPIServer.from_base(simulator.base_url)
    )
    async with aiogram.Bot(token or simulator.token, session=session) as bot:
        yield bot


@pytest.fixture
async def simulator() -> AsyncIterator[TelegramSimulator]:
    """Without limits: nobody waits here who would keep to them."""
    async with TelegramSimulator(limits=False) as simulator:
        yield simulator


@pytest.fixture
async def bot(aiogram: ModuleType, simulator: TelegramSimulator) -> AsyncIterator[Any]:
    async with second_sdk(aiogram, simulator) as bot:
        yield bot
    assert await simulator.violations() == []


def unknown_fields(value: Any, path: str = "update") -> Iterator[str]:
    """Fields the SDK keeps though the Bot API has none of that name."""
    if hasattr(value, "model_fields_set"):
        yield from (f"{path}.{name}" for name in value.model_extra or ())
        for name in value.model_fields_set:
            yield from unknown_fields(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from unknown_fields(item, f"{path}[{number}]")


async def heard(bot: Any, offset: int | None = None) -> list[Any]:
    updates = await bot.get_updates(offset=offset, timeout=0, allowed_updates=KINDS)
    assert [name for update in updates for name in unknown_fields(update)] == []
    return updates


async def test_it_reads_every_kind_of_update(
    aiogram: ModuleType, bot: Any, simulator: TelegramSimulator, ana: Person
) -> None:
    await heard(bot)  # asks for all kinds
    await simulator.set_bot(privacy_mode=False, topics_in_private=True)
    (first,) = await ana.send("/start and 😀 https://example.com @threadbridge_bot")
    await ana.send("an answer", reply_to=first["message_id"])
    await ana.edit(first["message_id"], "/start anew")
    await ana.react(first["message_id"], "👍")
    for kind, name in (
        ("document", "a.csv"),
        ("photo", "p.png"),
        ("voice", "v.ogg"),
        ("audio", "a.mp3"),
        ("video", "v.mp4"),
    ):
        await ana.send("look", files=[Upload(name, PNG, kind=kind)])
    await ana.send("album", files=[Upload("a.csv", b"1"), Upload("b.csv", b"2")], media_group=True)
    await ana.send("in a topic of ours", topic=await ana.create_topic("Trip"))
    keyboard = aiogram.types.InlineKeyboardMarkup(
        inline_keyboard=[[aiogram.types.InlineKeyboardButton(text="Yes", callback_data="y")]]
    )
    question = await bot.send_message(ana.id, "Sure?", reply_markup=keyboard)
    await ana.press(question.message_id, "y")
    await bot.send_message_draft(ana.id, 7, text="growing", can_stop=True)
    await ana.stop()
    await ana.block()
    await ana.unblock()
    forum = await simulator.group(ana, forum=True)
    topic = await ana.create_topic("Plans", chat=forum)
    await ana.send("in the topic", chat=forum, topic=topic)
    await ana.close_topic(topic, chat=forum)
    await ana.send("as nobody", chat=forum, anonymous=True)
    for status in ("administrator", "left", "member", "kicked"):
        await simulator.set_bot_status(forum, status, by=ana)
    group = await simulator.group(ana, kind="group")
    await ana.migrate(group)
    updates = await heard(bot)
    kinds = {update.event_type for update in updates}
    assert kinds == set(KINDS)
    contents = {update.message.content_type for update in updates if update.message}
    assert contents >= {
        "text", "document", "photo", "voice", "audio", "video", "forum_topic_created", "forum_topic_closed",
        "migrate_to_chat_id", "migrate_from_chat_id",
    }  # fmt: skip
    assert await heard(bot, updates[-1].update_id + 1) == []


async def test_what_it_sends_is_accepted(
    aiogram: ModuleType, bot: Any, simulator: TelegramSimulator, ana: Person
) -> None:
    me = await bot.get_me()
    assert (me.username, me.can_read_all_group_messages) == (simulator.bot_username, False)
    bold = aiogram.types.MessageEntity(type="bold", offset=0, length=5)
    keyboard = aiogram.types.InlineKeyboardMarkup(
        inline_keyboard=[[aiogram.types.InlineKeyboardButton(text="Yes", callback_data="y")]]
    )
    sent = await bot.send_message(ana.id, "Hello Ana", entities=[bold], reply_markup=keyboard)
    assert list(unknown_fields(sent)) == []
    await bot.edit_message_text("Hello again", chat_id=ana.id, message_id=sent.message_id, reply_markup=keyboard)
    query = await ana.press(sent.message_id, "y")
    assert await bot.answer_callback_query(query, text="Well chosen", show_alert=True)
    await bot.edit_message_reply_markup(chat_id=ana.id, message_id=sent.message_id, reply_markup=None)
    await bot.send_message(
        ana.id,
        "<b>as HTML</b>",
        parse_mode="HTML",
        reply_parameters=aiogram.types.ReplyParameters(message_id=sent.message_id),
    )
    document = await bot.send_document(ana.id, aiogram.types.BufferedInputFile(b"1,2", "täble.csv"), caption="a table")
    assert document.document is not None
    assert document.document.file_name == "täble.csv"
    await bot.send_photo(ana.id, aiogram.types.BufferedInputFile(PNG, "p.png"))
    album = [
        aiogram.types.InputMediaDocument(media=aiogram.types.BufferedInputFile(name.encode(), name))
        for name in ("a.txt", "b.txt")
    ]
    assert len(await bot.send_media_group(ana.id, album)) == 2
    file = await bot.get_file(document.document.file_id)
    content = await bot.download_file(file.file_path or "")
    assert content is not None
    assert content.read() == b"1,2"
    await bot.send_chat_action(ana.id, "typing")
    await bot.send_message_draft(ana.id, 7, text="growing", can_stop=True)
    (asked,) = await ana.send("like me")
    await bot.set_message_reaction(ana.id, asked["message_id"], [aiogram.types.ReactionTypeEmoji(emoji="👀")])
    await bot.delete_message(ana.id, sent.message_id)
    commands = [aiogram.types.BotCommand(command="help", description="this list")]
    await bot.set_my_commands(commands)
    await bot.set_my_commands(commands, scope=aiogram.types.BotCommandScopeChat(chat_id=ana.id))
    assert [command.command for command in await bot.get_my_commands()] == ["help"]
    chat = await simulator.chat(ana.id)
    assert chat.from_bot[0].text == "as HTML"
    assert chat.drafts[0].can_stop


async def test_what_it_does_in_groups_is_accepted(
    aiogram: ModuleType, bot: Any, simulator: TelegramSimulator, ana: Person
) -> None:
    forum = await simulator.group(ana, forum=True, bot_status="administrator")
    topic = await bot.create_forum_topic(forum, "Plans")
    await bot.send_message(forum, "here", message_thread_id=topic.message_thread_id)
    await bot.close_forum_topic(forum, topic.message_thread_id)
    await bot.reopen_forum_topic(forum, topic.message_thread_id)
    await bot.delete_forum_topic(forum, topic.message_thread_id)
    with pytest.raises(aiogram.exceptions.TelegramBadRequest, match="message thread not found"):
        await bot.send_message(forum, "too late", message_thread_id=topic.message_thread_id)
    assert (await bot.get_chat(forum)).is_forum
    assert (await bot.get_chat_member(forum, ana.id)).status == "creator"
    assert len(await bot.get_chat_administrators(forum)) == 2
    assert await bot.leave_chat(forum)
    with pytest.raises(aiogram.exceptions.TelegramForbiddenError, match="bot is not a member"):
        await bot.send_message(forum, "gone")


async def test_it_understands_what_the_simulator_refuses(
    aiogram: ModuleType, bot: Any, simulator: TelegramSimulator, ana: Person
) -> None:
    await simulator.fault("flood", "sendMessage", retry_after=1)
    with pytest.raises(aiogram.exceptions.TelegramRetryAfter) as flooded:
        await bot.send_message(ana.id, "too soon")
    assert flooded.value.retry_after == 1
    group = await simulator.group(ana, kind="group")
    supergroup = await ana.migrate(group)
    with pytest.raises(aiogram.exceptions.TelegramMigrateToChat) as migrated:
        await bot.send_message(group, "hello")
    assert migrated.value.migrate_to_chat_id == supergroup
    polling = asyncio.create_task(bot.get_updates(offset=900_000_000, timeout=10))
    await asyncio.sleep(0.2)
    async with second_sdk(aiogram, simulator) as other:
        await other.get_updates(offset=900_000_000, timeout=0)
    with pytest.raises(aiogram.exceptions.TelegramConflictError, match="terminated by other getUpdates request"):
        await polling
    async with TelegramSimulator() as another, second_sdk(aiogram, another, "1:WRONG") as stranger:
        with pytest.raises(aiogram.exceptions.TelegramUnauthorizedError):
            await stranger.get_me()


async def test_its_webhook_server_takes_what_the_simulator_delivers(
    aiogram: ModuleType, bot: Any, simulator: TelegramSimulator, ana: Person
) -> None:
    taken: asyncio.Queue[str] = asyncio.Queue()
    dispatcher = aiogram.Dispatcher()

    @dispatcher.message()
    async def keep(message: aiogram.types.Message) -> None:
        taken.put_nowait(message.text or "")

    application = web.Application()
    aiogram.webhook.aiohttp_server.SimpleRequestHandler(
        dispatcher, bot, handle_in_background=False, secret_token="s3cret"
    ).register(application, "/hook")
    runner = web.AppRunner(application)
    await runner.setup()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    await web.TCPSite(runner, "127.0.0.1", port).start()
    url = f"http://127.0.0.1:{port}/hook"
    await bot.set_webhook(url, secret_token="s3cret", allowed_updates=["message"], max_connections=7)
    for text in ("one", "two"):
        await ana.send(text)
    assert [await asyncio.wait_for(taken.get(), 10) for _ in range(2)] == ["one", "two"]
    info = await bot.get_webhook_info()
    assert (info.url, info.max_connections, info.allowed_updates) == (url, 7, ["message"])
    assert list(unknown_fields(info)) == []
    await bot.delete_webhook()
    await runner.cleanup()
