"""Updates reach python-telegram-bot under the real server's rules for pollers and webhooks."""

import asyncio
import time

import aiohttp
import pytest
import telegram
from aiohttp import web
from telegram.error import Conflict, EndPointNotFound

from tests.simulators.telegram import Person, TelegramSimulator, Upload
from tests.simulators.telegram.client import ControlFailed

from .conftest import client_of


async def poll(bot: telegram.Bot, offset: int | None = None, **options) -> tuple[telegram.Update, ...]:
    return await bot.get_updates(offset=offset, timeout=options.pop("timeout", 2), **options)


async def test_a_message_comes_until_its_offset_is_confirmed(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    await ana.send("one")
    await ana.send("two")
    first = await poll(bot)
    assert [update.message.text for update in first] == ["one", "two"]
    assert [update.message.text for update in await poll(bot)] == ["one", "two"]
    assert [update.message.text for update in await poll(bot, first[1].update_id)] == ["two"]
    assert await poll(bot, first[1].update_id + 1, timeout=0) == ()
    assert await simulator.pending_updates() == []


async def test_the_limit_and_a_negative_offset_are_honoured(bot: telegram.Bot, ana: Person):
    for text in ("one", "two", "three"):
        await ana.send(text)
    assert len(await poll(bot, limit=2)) == 2
    assert [update.message.text for update in await poll(bot, -1)] == ["three"]
    assert len(await poll(bot)) == 1


async def test_a_long_poll_waits_and_returns_at_the_message(bot: telegram.Bot, ana: Person):
    began = time.monotonic()
    polling = asyncio.create_task(poll(bot, timeout=10))
    await asyncio.sleep(0.3)
    await ana.send("now")
    assert (await polling)[0].message.text == "now"
    assert 0.25 < time.monotonic() - began < 3


async def test_simulated_time_passes_faster_by_the_factor():
    async with TelegramSimulator(time_scale=20) as simulator, client_of(simulator) as bot:
        began = time.monotonic()
        assert await poll(bot, timeout=20) == ()
        assert 0.9 < time.monotonic() - began < 3


async def test_of_two_pollers_the_first_gets_the_conflict(bot: telegram.Bot, simulator: TelegramSimulator, ana: Person):
    first = asyncio.create_task(poll(bot, timeout=10))
    await asyncio.sleep(0.2)
    async with client_of(simulator) as other:
        second = asyncio.create_task(poll(other, timeout=10))
        with pytest.raises(Conflict, match="terminated by other getUpdates request"):
            await first
        await ana.send("for the second")
        assert (await second)[0].message.text == "for the second"


async def test_an_update_can_come_again_under_its_old_id(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    (sent,) = await ana.send("once")
    update = (await poll(bot))[0]
    assert update.update_id == sent["update_id"]
    assert await poll(bot, update.update_id + 1, timeout=0) == ()
    await simulator.redeliver(update.update_id)
    assert [one.update_id for one in await poll(bot, update.update_id + 1)] == [update.update_id]
    assert await poll(bot, update.update_id + 1, timeout=0) == ()


async def test_kinds_of_updates_are_remembered_as_asked_for(bot: telegram.Bot, ana: Person):
    (sent,) = await ana.send("hello")
    await ana.react(sent["message_id"], "👍")
    updates = await poll(bot, allowed_updates=["message_reaction"])
    assert [update.message_reaction for update in updates] == [None]
    await ana.react(sent["message_id"], "❤")
    await ana.send("not asked for")
    updates = await poll(bot, updates[0].update_id + 1)
    assert [update.message_reaction.new_reaction[0].emoji for update in updates] == ["❤"]


async def test_of_reactions_a_bot_hears_what_changed_and_in_groups_only_as_an_administrator(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    await poll(bot, allowed_updates=["message_reaction"], timeout=0)
    group = await simulator.group(ana)
    (said,) = await ana.send("hello", chat=group)
    message = said["message_id"]
    assert await ana.react(message, "👍", chat=group) is None
    await simulator.set_bot_status(group, "administrator", by=ana)
    assert await ana.react(message, "👍", chat=group) is None
    await ana.react(message, "👎", "❤", chat=group)
    await ana.react(message, chat=group, anonymous=True)
    changed, taken_back = [update.message_reaction for update in await poll(bot)]
    assert [one.emoji for one in changed.old_reaction] == ["👍"]
    assert [one.emoji for one in changed.new_reaction] == ["👎", "❤"]
    assert (changed.user.id, changed.actor_chat) == (ana.id, None)
    assert (taken_back.new_reaction, taken_back.user, taken_back.actor_chat.id) == ((), None, group)
    for wrong in (("✅",), ("👍", "👍"), ("👍", "👎", "❤", "🔥")):
        with pytest.raises(ControlFailed, match="no reactions"):
            await ana.react(message, *wrong, chat=group)
    with pytest.raises(ControlFailed, match="not in this chat"):
        await (await simulator.person("Ben")).react(message, "👍", chat=group)


async def test_a_wrong_token_and_an_unknown_method_are_refused(simulator: TelegramSimulator, bot: telegram.Bot):
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{simulator.base_url}/bot1:WRONG/getMe") as reply,
    ):
        assert reply.status == 401
        assert (await reply.json())["description"] == "Unauthorized: invalid token specified"
    with pytest.raises(EndPointNotFound):
        await bot.do_api_request("sendTelepathy")
    assert len(await simulator.violations()) == 2


class Receiver:
    """A webhook that refuses as many deliveries as it is told to."""

    def __init__(self, refusals: int = 0) -> None:
        self.refusals = refusals
        self.received: asyncio.Queue[tuple[dict, str | None]] = asyncio.Queue()
        self.attempts = 0

    async def __aenter__(self) -> "Receiver":
        application = web.Application()
        application.router.add_post("/hook", self._take)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/hook"

    async def _take(self, request: web.Request) -> web.Response:
        self.attempts += 1
        if self.attempts <= self.refusals:
            return web.Response(status=500)
        self.received.put_nowait((await request.json(), request.headers.get("X-Telegram-Bot-Api-Secret-Token")))
        return web.Response()


async def test_a_webhook_gets_updates_in_order_with_its_secret_and_again_after_a_refusal():
    async with TelegramSimulator(time_scale=10) as simulator, client_of(simulator) as bot, Receiver(2) as receiver:
        ana = await simulator.person()
        await ana.send("before")
        await bot.set_webhook(receiver.url, secret_token="s3cret")
        await ana.send("after")
        taken = [await asyncio.wait_for(receiver.received.get(), 5) for _ in range(2)]
        assert [(body["message"]["text"], secret) for body, secret in taken] == [
            ("before", "s3cret"),
            ("after", "s3cret"),
        ]
        assert receiver.attempts == 4
        with pytest.raises(Conflict, match="can't use getUpdates method while webhook is active"):
            await poll(bot)
        await bot.delete_webhook()
        assert await poll(bot, timeout=0) == ()


async def test_setting_a_webhook_ends_a_poll(bot: telegram.Bot):
    polling = asyncio.create_task(poll(bot, timeout=10))
    await asyncio.sleep(0.2)
    async with Receiver() as receiver:
        await bot.set_webhook(receiver.url)
        with pytest.raises(Conflict, match="terminated by setWebhook request"):
            await polling
        await bot.delete_webhook()


async def test_files_and_albums_of_people_come_with_their_bytes(bot: telegram.Bot, ana: Person):
    await ana.send(
        "two files",
        files=[Upload("a.csv", b"1,2", mime_type="text/csv"), Upload("b.csv", b"3,4", mime_type="text/csv")],
        media_group=True,
    )
    first, second = [update.message for update in await poll(bot)]
    assert first.media_group_id == second.media_group_id is not None
    assert (first.caption, second.caption) == ("two files", None)
    assert first.document.file_name == "a.csv"
    assert bytes(await (await bot.get_file(second.document.file_id)).download_as_bytearray()) == b"3,4"


async def test_photos_have_sizes_and_large_files_cannot_be_fetched(bot: telegram.Bot, ana: Person):
    await ana.send(files=[Upload("p.jpg", b"\xff\xd8\xff\xe0", kind="photo")])
    await ana.send(files=[Upload("big.zip", b"x", declared_size=21 * 1024 * 1024)])
    photo, large = [update.message for update in await poll(bot)]
    assert len(photo.photo) == 2
    assert (await bot.get_file(photo.photo[-1].file_id)).file_size == 4
    with pytest.raises(telegram.error.BadRequest, match="File is too big"):
        await bot.get_file(large.document.file_id)


async def test_edits_presses_and_membership_reach_the_bot(bot: telegram.Bot, ana: Person, simulator: TelegramSimulator):
    (sent,) = await ana.send("helo")
    await ana.edit(sent["message_id"], "hello")
    await ana.block()
    message, edited, blocked = await poll(bot)
    assert (message.message.text, edited.edited_message.text) == ("helo", "hello")
    assert blocked.my_chat_member.new_chat_member.status == "kicked"
    with pytest.raises(telegram.error.Forbidden, match="bot was blocked by the user"):
        await bot.send_message(ana.id, "hello?")


async def test_privacy_mode_hides_group_messages_that_are_not_for_the_bot(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    group = await simulator.group(ana)
    said = [
        "chatter", "hey @threadbridge_bot", "/help", "/help@threadbridge_bot", "/help@other_bot", "mail a@threadbridge_bot"
    ]  # fmt: skip
    for text in said:
        await ana.send(text, chat=group)
    assert [update.message.text for update in await poll(bot)] == said[1:4]
    reply = await bot.send_message(group, "yes?")
    await ana.send("chatter to you", chat=group, reply_to=reply.message_id)
    assert (await poll(bot))[-1].message.text == "chatter to you"
    await simulator.set_bot(privacy_mode=False)
    await ana.send("more chatter", chat=group)
    assert (await poll(bot))[-1].message.text == "more chatter"
    assert (await bot.get_me()).can_read_all_group_messages


async def test_topics_are_marked_and_plain_replies_only_look_like_them(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    await simulator.set_bot(privacy_mode=False)
    forum = await simulator.group(ana, forum=True)
    topic = await ana.create_topic("Plans", chat=forum)
    await ana.send("in the topic", chat=forum, topic=topic)
    plain = await simulator.group(ana)
    (root,) = await ana.send("root", chat=plain)
    await ana.send("reply", chat=plain, reply_to=root["message_id"])
    created, in_topic, _, reply = [update.message for update in await poll(bot)]
    assert created.forum_topic_created.name == "Plans"
    assert (in_topic.message_thread_id, in_topic.is_topic_message) == (topic, True)
    assert (reply.message_thread_id, reply.is_topic_message) == (root["message_id"], None)


async def test_an_anonymous_administrator_speaks_as_the_group(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    group = await simulator.group(ana)
    await ana.send("/status", chat=group, anonymous=True)
    message = (await poll(bot))[0].message
    assert message.sender_chat.id == group
    assert message.from_user.username == "GroupAnonymousBot"


async def test_a_group_that_became_a_supergroup_names_its_new_id(
    bot: telegram.Bot, ana: Person, simulator: TelegramSimulator
):
    group = await simulator.group(ana, kind="group")
    supergroup = await ana.migrate(group)
    old, new = [update.message for update in await poll(bot)]
    assert (old.migrate_to_chat_id, new.migrate_from_chat_id) == (supergroup, group)
    with pytest.raises(telegram.error.ChatMigrated) as migrated:
        await bot.send_message(group, "hello")
    assert migrated.value.new_chat_id == supergroup
    assert (await bot.send_message(supergroup, "hello")).chat_id == supergroup
