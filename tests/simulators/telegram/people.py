"""What people do on the simulated Telegram: they write, edit, press, react, stop, block and let bots in."""

import time
from dataclasses import dataclass, field
from typing import Any

from .api import BotApi
from .media import media_fields
from .texts import person_text
from .utf16 import FormattedText
from .world import Chat, Message, StoredFile, Topic, User

Json = dict[str, Any]


class Impossible(Exception):
    """A person can't do that on Telegram; a mistake in the test."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a person sends: one message, or with several files an album or a burst."""

    text: str = ""
    entities: list[Json] = field(default_factory=list)
    reply_to: int | None = None
    topic: int | None = None
    files: list[StoredFile] = field(default_factory=list)
    album: bool = False
    anonymous: bool = False


def write(api: BotApi, chat: Chat, sender: User, written: Written) -> list[tuple[int, int | None]]:
    """Send it; the ids of the messages with the ids of their updates (None where the bot is not told)."""
    if sender.id not in chat.members:
        raise Impossible(f"{sender.first_name} is not in this chat")
    _start_bot(api, chat)
    album = api.world.next_album_id() if written.album else None
    told = []
    files: list[StoredFile | None] = [*written.files] or [None]
    for position, file in enumerate(files):
        content = person_text(written.text if position == 0 else "", written.entities if position == 0 else [])
        message = _new_message(api, chat, sender, content, written)
        message.album = album
        if file is not None:
            message.file, message.media = file, media_fields(file)
        told.append((message.id, post(api, message)))
    return told


def post(api: BotApi, message: Message) -> int | None:
    """Put a message into its chat, and tell the bot when it can see it."""
    message.chat.messages[message.id] = message
    api.journal.effect("received", message.chat.id, message_id=message.id, text=message.content.text)
    return api.updates.add("message", message.api()) if bot_sees(api, message) else None


def bot_sees(api: BotApi, message: Message) -> bool:
    """Privacy mode: in groups only commands, mentions and replies to the bot, unless the bot is an administrator."""
    chat, bot = message.chat, api.world.bot
    status = chat.members.get(bot.id, "left")
    if status in {"left", "kicked"}:
        return False
    if chat.type == "private" or not api.world.privacy_mode or status == "administrator" or message.service:
        return True
    if message.reply_to is not None and message.reply_to.sender.id == bot.id:
        return True
    return _addresses(message.content, bot)


def _addresses(content: FormattedText, bot: User) -> bool:
    units = content.text.encode("utf-16-le")
    own_name = f"@{bot.username}".lower()
    for entity in content.entities:
        begin = entity["offset"] * 2
        word = units[begin : begin + entity["length"] * 2].decode("utf-16-le").lower()
        if entity["type"] == "mention" and word == own_name:
            return True
        if entity["type"] == "bot_command" and ("@" not in word or word.endswith(own_name)):
            return True
        if entity["type"] == "text_mention" and entity["user"]["id"] == bot.id:
            return True
    return False


def _start_bot(api: BotApi, chat: Chat) -> None:
    """Writing to a bot starts it, and unblocks nothing."""
    if chat.type == "private" and chat.members.get(api.world.bot.id) == "left":
        chat.members[api.world.bot.id] = "member"


def _new_message(api: BotApi, chat: Chat, sender: User, content: FormattedText, written: Written) -> Message:
    reply_to = None
    if written.reply_to is not None:
        reply_to = chat.message(written.reply_to)
        if reply_to is None:
            raise Impossible("the message replied to is not there")
    topic = written.topic if written.topic is not None or reply_to is None else reply_to.topic
    if topic is not None and topic not in chat.topics:
        raise Impossible("there is no such topic")
    return Message(
        api.world.next_message_id(chat), chat, sender, content, api.clock.now(), reply_to=reply_to, topic=topic,
        anonymous=written.anonymous,
    )  # fmt: skip


def edit(api: BotApi, message: Message, text: str, entities: list[Json]) -> int | None:
    """Change a person's own message; an unchanged text is an edit too, as after a link preview came."""
    message.content = person_text(text, entities)
    message.edit_date = int(time.time())
    return api.updates.add("edited_message", message.api()) if bot_sees(api, message) else None


def press(api: BotApi, message: Message, sender: User, data: str) -> tuple[str, int | None]:
    """Press the button with this callback data; the query's id and the update's."""
    rows = message.markup["inline_keyboard"] if message.markup else []
    if not any(button.get("callback_data") == data for row in rows for button in row):
        raise Impossible(f"the message has no button with the data {data!r}")
    query = api.presses.press(api.clock.now())
    body = {
        "id": query.id, "from": sender.api(), "message": message.api(), "chat_instance": str(message.chat.id),
        "data": data,
    }  # fmt: skip
    return query.id, api.updates.add("callback_query", body)


def stop_draft(api: BotApi, chat: Chat, topic: int | None) -> int | None:
    """Press the stop button of the draft that is shown."""
    chat.live_drafts(api.clock.now())
    draft = chat.drafts.get(topic)
    if draft is None or not draft.can_stop:
        raise Impossible("no draft with a stop button is shown")
    draft.stopped = True
    if not draft.keep_on_stop:
        del chat.drafts[topic]
    body: Json = {"chat": chat.api(), "draft_id": draft.id}
    if topic is not None:
        body["message_thread_id"] = topic
    return api.updates.add("stopped_message_generation", body)


def set_bot_status(api: BotApi, chat: Chat, actor: User, status: str) -> int | None:
    """Add, promote, remove or (private chat) block the bot."""
    bot = api.world.bot
    old = chat.members.get(bot.id, "left")
    chat.members[bot.id] = status
    body = {
        "chat": chat.api(), "from": actor.api(), "date": int(time.time()),
        "old_chat_member": chat_member(bot, old), "new_chat_member": chat_member(bot, status),
    }  # fmt: skip
    return api.updates.add("my_chat_member", body)


def chat_member(user: User, status: str) -> Json:
    """The `ChatMember` object, with the rights its status needs."""
    described: Json = {"user": user.api(), "status": status}
    if status == "kicked":
        return described | {"until_date": 0}
    if status == "creator":
        return described | {"is_anonymous": False}
    if status == "administrator":
        rights = (
            "can_be_edited", "is_anonymous", "can_manage_chat", "can_delete_messages", "can_manage_video_chats",
            "can_restrict_members", "can_promote_members", "can_change_info", "can_invite_users", "can_post_stories",
            "can_edit_stories", "can_delete_stories", "can_send_welcome_messages",
        )  # fmt: skip
        return described | dict.fromkeys(rights, False)
    return described


def add_topic(api: BotApi, chat: Chat, sender: User, name: str) -> Topic:
    """Open a forum topic; its id is that of the service message which announces it."""
    message_id = api.world.next_message_id(chat)
    chat.topics[message_id] = topic = Topic(message_id, name)
    announcement = Message(message_id, chat, sender, FormattedText("", []), api.clock.now(), topic=message_id)
    announcement.service = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
    if sender.id == api.world.bot.id:
        chat.messages[message_id] = announcement
    else:
        post(api, announcement)
    return topic


def close_topic(api: BotApi, chat: Chat, sender: User, topic: Topic) -> None:
    """From now on only administrators write there."""
    topic.closed = True
    nothing = FormattedText("", [])
    announcement = Message(api.world.next_message_id(chat), chat, sender, nothing, api.clock.now(), topic=topic.id)
    announcement.service = {"forum_topic_closed": {}}
    post(api, announcement)


def remove_topic(chat: Chat, topic: Topic) -> None:
    """Delete a topic with all its messages; nobody is told."""
    del chat.topics[topic.id]
    chat.former_topics.add(topic.id)
    for message in chat.messages.values():
        message.deleted = message.deleted or message.topic == topic.id


def migrate(api: BotApi, group: Chat, sender: User) -> Chat:
    """Turn a group into a supergroup: a new id, and a service message in either chat."""
    title = group.title or ""
    supergroup = api.world.add_group("supergroup", title, is_forum=False, members=dict(group.members))
    for chat, service in (
        (group, {"migrate_to_chat_id": supergroup.id}),
        (supergroup, {"migrate_from_chat_id": group.id}),
    ):
        nothing = FormattedText("", [])
        post(api, Message(api.world.next_message_id(chat), chat, sender, nothing, api.clock.now(), service=service))
    group.migrated_to = supergroup.id
    return supergroup
