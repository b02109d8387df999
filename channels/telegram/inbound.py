"""Telegram updates → events: pure, and silent about everything it does not know."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from telegram import CallbackQuery, ChatMember, Message, MessageEntity, Update, User
from telegram.constants import ChatType

from channels.contract import (
    Addressed,
    ChatKind,
    ChoiceSelected,
    ConversationKey,
    FeedbackGiven,
    FileRef,
    InboundEvent,
    MessageEdited,
    MessageReceived,
    Press,
    Sender,
    SendNowRequested,
    StopRequested,
)
from channels.telegram.described import described
from channels.telegram.ids import (
    Address,
    ButtonPress,
    ChoicePress,
    SendNowPress,
    StopPress,
    ThumbPress,
    parse_callback_data,
)

_COMMAND = re.compile(r"/(?P<name>[A-Za-z0-9_]{1,32})(?:@(?P<bot>\w+))?(?=\s|$)")
_STOPPED = "stopped_message_generation"
_UPDATE_TYPES = (Update.MESSAGE, Update.EDITED_MESSAGE, Update.CALLBACK_QUERY, Update.MY_CHAT_MEMBER, _STOPPED)
_PRESENT = {ChatMember.MEMBER, ChatMember.ADMINISTRATOR, ChatMember.RESTRICTED}
_ANONYMOUS_ADMIN = 1087968824  # @GroupAnonymousBot, in whose name Telegram shows what anonymous admins do


def update_types(*, reactions: bool) -> tuple[str, ...]:
    """What Telegram is asked to tell; reactions it tells only where they are named."""
    return (*_UPDATE_TYPES, Update.MESSAGE_REACTION) if reactions else _UPDATE_TYPES


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who the bot is, to know when it is spoken to."""

    id: int
    username: str


@dataclass(frozen=True, slots=True)
class ChatMove:
    """A group has become a supergroup, with another id."""

    old: ConversationKey
    new_chat: str


@dataclass(frozen=True, slots=True)
class Joined:
    """Somebody has put the bot into a group."""

    group: ConversationKey
    by: Sender


@dataclass(frozen=True, slots=True)
class _Press:
    """Who pressed where."""

    conversation: ConversationKey
    chat_kind: ChatKind
    sender: Sender
    dedupe_key: str
    occurred_at: datetime

    def event(self, press: ButtonPress) -> Press:
        about = {field.name: getattr(self, field.name) for field in fields(self)}
        match press:
            case ChoicePress(token, option, action, step):
                return ChoiceSelected(token=token, option=option, action=action, step=step, **about)
            case StopPress(run_id):
                return StopRequested(run_id=run_id, **about)
            case ThumbPress(run_id, rating):
                return FeedbackGiven(run_id=run_id, rating=rating, **about)
            case SendNowPress(run_id):
                return SendNowRequested(run_id=run_id, **about)


@dataclass(frozen=True, slots=True)
class Inbound:
    """Reads updates for one bot. `draft_runs` tells which run a draft belongs to, as far as it is known."""

    bot: BotIdentity
    draft_runs: Mapping[int, str]

    def event(self, update: Update, received_at: datetime) -> InboundEvent | None:
        """What a person did, or None if the update is nothing for us (other bots, channels, what is newer than we are)."""
        if update.message is not None:
            return self._message(update.update_id, update.message)
        if update.edited_message is not None:
            return self._edit(update.update_id, update.edited_message)
        if update.callback_query is not None:
            return self._press(update.update_id, update.callback_query, received_at)
        stopped = update.api_kwargs.get(_STOPPED)
        return self._stop(update.update_id, stopped, received_at) if isinstance(stopped, dict) else None

    def move(self, update: Update) -> ChatMove | None:
        """Whether a group goes on under another id; Telegram tells it twice, in the former chat and in the new one."""
        message = update.message
        if message is None:
            return None
        if message.migrate_to_chat_id is not None:
            return ChatMove(self._chat(message.chat.id), str(message.migrate_to_chat_id))
        if message.migrate_from_chat_id is not None:
            return ChatMove(self._chat(message.migrate_from_chat_id), str(message.chat.id))
        return None

    def joined(self, update: Update) -> Joined | None:
        """Whether the bot was put into a group or channel just now."""
        change = update.my_chat_member
        if change is None or change.chat.type == ChatType.PRIVATE:
            return None
        was, now = change.old_chat_member.status, change.new_chat_member.status
        if was in _PRESENT or now not in _PRESENT:
            return None
        by = person_of(change.from_user)
        if change.from_user.id == _ANONYMOUS_ADMIN:
            by = Sender(str(change.chat.id), change.chat.title or "", is_anonymous=True)
        return Joined(self._chat(change.chat.id), by)

    def _chat(self, chat_id: int) -> ConversationKey:
        return Address(chat_id).conversation(self.bot.id)

    def _message(self, update_id: int, message: Message) -> MessageReceived | None:
        sender, kind = _sender(message), chat_kind(message.chat.type)
        written = message.text or message.caption or described(message)
        files = tuple(_files(message))
        if sender is None or kind is None or not (written or files):
            return None
        text, addressed = self._addressed(message, kind, written)
        return MessageReceived(
            conversation=_address(message).conversation(self.bot.id),
            chat_kind=kind,
            sender=sender,
            dedupe_key=str(update_id),
            occurred_at=message.date,
            message_id=str(message.message_id),
            text=text,
            addressed=addressed,
            files=files,
            reply_to=_reply_to(message),
            group=message.media_group_id,
        )

    def _edit(self, update_id: int, message: Message) -> MessageEdited | None:
        sender, kind = _sender(message), chat_kind(message.chat.type)
        written = message.text or message.caption
        if sender is None or kind is None or not written:
            return None
        text, _ = self._addressed(message, kind, written)
        return MessageEdited(
            conversation=_address(message).conversation(self.bot.id),
            chat_kind=kind,
            sender=sender,
            dedupe_key=str(update_id),
            occurred_at=message.edit_date or message.date,
            message_id=str(message.message_id),
            text=text,
        )

    def _press(self, update_id: int, query: CallbackQuery, received_at: datetime) -> InboundEvent | None:
        press = parse_callback_data(query.data or "")
        kind = chat_kind(query.message.chat.type) if query.message else None
        if press is None or query.message is None or kind is None:
            return None
        topic = _address(query.message).topic if isinstance(query.message, Message) else None
        about = _Press(
            conversation=Address(query.message.chat.id, topic).conversation(self.bot.id),
            chat_kind=kind,
            sender=person_of(query.from_user),
            dedupe_key=str(update_id),
            occurred_at=received_at,
        )
        return about.event(press)

    def _stop(self, update_id: int, stopped: dict[str, object], received_at: datetime) -> StopRequested | None:
        chat, topic, draft = stopped.get("chat"), stopped.get("message_thread_id"), stopped.get("draft_id")
        if not isinstance(chat, dict) or not isinstance(chat.get("id"), int) or not isinstance(draft, int):
            return None
        return StopRequested(
            conversation=Address(chat["id"], topic if isinstance(topic, int) else None).conversation(self.bot.id),
            chat_kind=ChatKind.PRIVATE,  # drafts exist nowhere else, and there the chat's id is the person's
            sender=Sender(id=str(chat["id"]), name=str(chat.get("first_name", "")), username=chat.get("username")),
            dedupe_key=str(update_id),
            occurred_at=received_at,
            run_id=self.draft_runs.get(draft),
        )

    def _addressed(self, message: Message, kind: ChatKind, written: str) -> tuple[str, Addressed]:
        """The text without the address on it, and how the bot was addressed."""
        text, mentioned = self._without_mention(message, written)
        command = _COMMAND.match(text)
        if command and (command["bot"] or self.bot.username).lower() == self.bot.username.lower():
            return f"/{command['name']}{text[command.end() :]}", Addressed.COMMAND
        if kind is ChatKind.PRIVATE:
            return text, Addressed.DM
        if mentioned:
            return text, Addressed.MENTION
        if self._is_reply_to_bot(message):
            return text, Addressed.REPLY
        return text, Addressed.AMBIENT

    def _without_mention(self, message: Message, written: str) -> tuple[str, bool]:
        """The text without a mention at its beginning; a mention elsewhere stays where it is."""
        entities = message.parse_entities() if message.text else message.parse_caption_entities()
        mentions = {entity: shown for entity, shown in entities.items() if self._is_mention(entity, shown)}
        for entity, shown in mentions.items():
            if entity.offset == 0:
                return written.removeprefix(shown).lstrip(" ,:\n"), True
        return written, bool(mentions)

    def _is_mention(self, entity: MessageEntity, shown: str) -> bool:
        if entity.type == MessageEntity.TEXT_MENTION:
            return entity.user is not None and entity.user.id == self.bot.id
        return entity.type == MessageEntity.MENTION and shown.lower() == f"@{self.bot.username}".lower()

    def _is_reply_to_bot(self, message: Message) -> bool:
        replied = message.reply_to_message
        if replied is None or replied.forum_topic_created is not None:
            return False
        return replied.from_user is not None and replied.from_user.id == self.bot.id


def chat_kind(chat_type: str) -> ChatKind | None:
    """Private or a group; None for channels, where nobody speaks to anybody."""
    if chat_type == ChatType.PRIVATE:
        return ChatKind.PRIVATE
    return ChatKind.GROUP if chat_type in {ChatType.GROUP, ChatType.SUPERGROUP} else None


def _address(message: Message) -> Address:
    """`message_thread_id` names a topic only with `is_topic_message`; plain supergroups set it on replies too."""
    return Address(message.chat.id, message.message_thread_id if message.is_topic_message else None)


def _sender(message: Message) -> Sender | None:
    """The person; for anonymous admins the group itself, and for who writes as a channel that channel. Nobody for bots.

    What Telegram forwards from a group's channel into the group was said to the channel's readers, not here.
    """
    if message.is_automatic_forward:
        return None
    if (chat := message.sender_chat) is not None:
        return Sender(str(chat.id), chat.title or "", chat.username, is_anonymous=True)
    if message.from_user is None or message.from_user.is_bot:
        return None
    return person_of(message.from_user)


def person_of(user: User) -> Sender:
    """The person, by the id that never changes."""
    return Sender(str(user.id), user.full_name, user.username)


def _reply_to(message: Message) -> str | None:
    """The message replied to; in a topic the service message that opened it is replied to by everything."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else str(replied.message_id)


def _files(message: Message) -> Iterator[FileRef]:
    if message.photo:
        largest = max(message.photo, key=lambda size: size.width * size.height)
        yield FileRef(largest.file_id, f"photo_{message.message_id}.jpg", "image/jpeg", largest.file_size)
    for kind, media, suffix in (
        ("document", message.document, ""),
        ("video", message.video, ".mp4"),
        ("audio", message.audio, ".mp3"),
        ("voice", message.voice, ".ogg"),
        ("video_note", message.video_note, ".mp4"),
    ):
        if media is not None:
            name = getattr(media, "file_name", None) or f"{kind}_{message.message_id}{suffix}"
            yield FileRef(media.file_id, name, getattr(media, "mime_type", None), media.file_size)
    sticker = message.sticker
    if sticker is not None and not (sticker.is_animated or sticker.is_video):  # those are in forms nothing else reads
        yield FileRef(sticker.file_id, f"sticker_{message.message_id}.webp", "image/webp", sticker.file_size)
