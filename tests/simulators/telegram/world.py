"""What exists on the simulated Telegram: people, chats, topics, messages and files."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .utf16 import FormattedText

Json = dict[str, Any]
GENERAL_TOPIC = 1
_ANONYMOUS_ADMIN: Json = {
    "id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot",
}  # fmt: skip


@dataclass(slots=True)
class User:
    id: int
    first_name: str
    username: str | None = None
    is_bot: bool = False
    language_code: str | None = None

    def api(self) -> Json:
        described: Json = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        optional = {"username": self.username, "language_code": self.language_code}
        return described | {name: value for name, value in optional.items() if value is not None}


@dataclass(slots=True)
class StoredFile:
    """A file on the simulated servers; `size` may be declared larger than the bytes that are kept."""

    id: str
    kind: str
    name: str
    mime_type: str
    content: bytes
    size: int
    path: str

    @property
    def unique_id(self) -> str:
        return f"u{self.id}"


@dataclass(slots=True)
class Edit:
    """One state of a message's text, with the simulated second at which it came."""

    at: float
    text: str


@dataclass(slots=True)
class Message:
    """A message as it stands; `text` is the caption when it carries media."""

    id: int
    chat: "Chat"
    sender: User
    content: FormattedText
    at: float
    date: int = field(default_factory=lambda: int(time.time()))
    file: StoredFile | None = None
    media: Json = field(default_factory=dict)
    markup: Json | None = None
    reply_to: "Message | None" = None
    quote: str | None = None
    topic: int | None = None
    album: str | None = None
    anonymous: bool = False
    service: Json = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    edit_date: int | None = None
    deleted: bool = False
    reactions: dict[int, list[Json]] = field(default_factory=dict)

    def api(self, *, nested: bool = False) -> Json:
        """The `Message` object of the Bot API; a message replied to is nested without its own reply."""
        described: Json = {
            "message_id": self.id, "date": self.date, "chat": self.chat.api(), "from": self.sender.api(),
            **self.media, **self.service,
        }  # fmt: skip
        if self.anonymous:
            described |= {"from": _ANONYMOUS_ADMIN, "sender_chat": self.chat.api()}
        if self.content.text:
            text, entities = ("caption", "caption_entities") if self.media else ("text", "entities")
            described[text] = self.content.text
            if self.content.entities:
                described[entities] = self.content.entities
        described |= self._thread()
        if self.reply_to is not None and not nested:
            described["reply_to_message"] = self.reply_to.api(nested=True)
        if self.quote is not None:
            described["quote"] = {"text": self.quote, "position": 0, "is_manual": True}
        optional = {"reply_markup": self.markup, "media_group_id": self.album, "edit_date": self.edit_date}
        return described | {name: value for name, value in optional.items() if value is not None}

    def _thread(self) -> Json:
        if self.topic is not None:
            return {"message_thread_id": self.topic, "is_topic_message": True}
        if self.chat.type == "supergroup" and not self.chat.is_forum and self.reply_to is not None:
            return {"message_thread_id": self.thread_root}
        return {}

    @property
    def thread_root(self) -> int:
        """The first message of the reply chain, which plain supergroups give as `message_thread_id`."""
        return self.reply_to.thread_root if self.reply_to is not None else self.id

    def view(self) -> Json:
        """The message as the person sees it, with what a test wants to know about its past."""
        return {
            "message_id": self.id, "sender": self.sender.id, "text": self.content.text,
            "entities": self.content.entities, "markup": self.markup, "topic": self.topic,
            "reply_to": self.reply_to.id if self.reply_to else None, "quote": self.quote, "album": self.album,
            "file": _file_view(self.file), "service": self.service, "deleted": self.deleted, "at": self.at,
            "edits": [{"at": edit.at, "text": edit.text} for edit in self.edits],
            "reactions": {str(user): reactions for user, reactions in self.reactions.items()},
        }  # fmt: skip


@dataclass(slots=True)
class Topic:
    id: int
    name: str
    closed: bool = False


@dataclass(slots=True)
class Draft:
    """The preview of an answer that is still being written; gone 30 simulated seconds after its last update."""

    id: int
    topic: int | None
    content: FormattedText
    can_stop: bool
    keep_on_stop: bool
    expires_at: float
    stopped: bool = False
    updates: int = 1


@dataclass(slots=True)
class Chat:
    id: int
    type: str
    title: str | None = None
    is_forum: bool = False
    members: dict[int, str] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    topics: dict[int, Topic] = field(default_factory=dict)
    former_topics: set[int] = field(default_factory=set)
    drafts: dict[int | None, Draft] = field(default_factory=dict)
    actions: list[Json] = field(default_factory=list)
    migrated_to: int | None = None
    person: User | None = None

    def api(self) -> Json:
        described: Json = {"id": self.id, "type": self.type}
        if self.person is not None:
            described["first_name"] = self.person.first_name
            if self.person.username:
                described["username"] = self.person.username
        if self.title is not None:
            described["title"] = self.title
        if self.is_forum:
            described["is_forum"] = True
        return described

    def message(self, message_id: int) -> Message | None:
        """The message of that id that the chat still shows."""
        found = self.messages.get(message_id)
        return None if found is None or found.deleted else found

    def live_drafts(self, now: float) -> list[Draft]:
        self.drafts = {topic: draft for topic, draft in self.drafts.items() if draft.expires_at > now}
        return list(self.drafts.values())


def _file_view(file: StoredFile | None) -> Json | None:
    if file is None:
        return None
    return {"file_id": file.id, "kind": file.kind, "name": file.name, "mime_type": file.mime_type, "size": file.size}


class World:
    """All there is, and the counters that give new things their ids."""

    def __init__(self, bot: User) -> None:
        self.bot = bot
        self.users: dict[int, User] = {bot.id: bot}
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, StoredFile] = {}
        self.commands: dict[tuple[str, str], list[Json]] = {}
        self.privacy_mode = True
        self.topics_in_private = False
        self._message_ids: dict[int, Iterator[int]] = {}
        self._shared_message_ids = itertools.count(101)
        self._user_ids = itertools.count(700_000_001)
        self._group_ids = itertools.count(4_000_001)
        self._file_ids = itertools.count(1)
        self._album_ids = itertools.count(13_000_000_001)

    def add_user(self, first_name: str, username: str | None, language_code: str | None) -> User:
        user = User(next(self._user_ids), first_name, username, language_code=language_code)
        self.users[user.id] = user
        return user

    def add_private_chat(self, person: User) -> Chat:
        members = {person.id: "member", self.bot.id: "member"}
        self.chats[person.id] = chat = Chat(person.id, "private", person=person, members=members)
        return chat

    def add_group(self, kind: str, title: str, *, is_forum: bool, members: dict[int, str]) -> Chat:
        number = next(self._group_ids)
        chat_id = -number if kind == "group" else -1_000_000_000_000 - number
        self.chats[chat_id] = chat = Chat(chat_id, kind, title, is_forum, members)
        return chat

    def next_message_id(self, chat: Chat) -> int:
        """Supergroups count for themselves; private chats and small groups share the account's numbers."""
        if chat.type != "supergroup":
            return next(self._shared_message_ids)
        return next(self._message_ids.setdefault(chat.id, itertools.count(2)))

    def next_album_id(self) -> str:
        return str(next(self._album_ids))

    def add_file(self, kind: str, name: str, mime_type: str, content: bytes, size: int | None = None) -> StoredFile:
        number = next(self._file_ids)
        extension = f".{name.rpartition('.')[2]}" if "." in name else ""
        path = f"{kind}s/file_{number}{extension}"
        declared = len(content) if size is None else size
        file = StoredFile(f"BQACAgIAAxkBAAI{number:05d}", kind, name, mime_type, content, declared, path)
        self.files[file.id] = file
        return file

    def file_at(self, path: str) -> StoredFile | None:
        return next((file for file in self.files.values() if file.path == path), None)
