"""Reactions to messages: those there are, and how a bot is told of what people put."""

import time
from collections.abc import Sequence
from typing import Any

from .api import BotApi
from .people import Impossible
from .world import Message, User

Json = dict[str, Any]
REACTIONS = frozenset({
    "👍", "👎", "❤", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬", "😢", "🎉", "🤩", "🤮", "💩", "🙏", "👌",
    "🕊", "🤡", "🥱", "🥴", "😍", "🐳", "❤‍🔥", "🌚", "🌭", "💯", "🤣", "⚡", "🍌", "🏆", "💔", "🤨", "😐", "🍓",
    "🍾", "💋", "🖕", "😈", "😴", "😭", "🤓", "👻", "👨‍💻", "👀", "🎃", "🙈", "😇", "😨", "🤝", "✍", "🤗", "🫡",
    "🎅", "🎄", "☃", "💅", "🤪", "🗿", "🆒", "💘", "🙉", "🦄", "😘", "💊", "🙊", "😎", "👾", "🤷‍♂", "🤷", "🤷‍♀",
    "😡",
})  # fmt: skip
_MOST_OF_A_PERSON = 3  # with Premium


def react(api: BotApi, message: Message, sender: User, emojis: Sequence[str], *, anonymous: bool) -> int | None:
    """Have exactly these stand there from this person. A bot is told of changes only, and in groups only as an administrator."""
    chat = message.chat
    if sender.id not in chat.members:
        raise Impossible(f"{sender.first_name} is not in this chat")
    if message.service:
        raise Impossible("nobody can react to a service message")
    if anonymous and chat.members[sender.id] not in {"creator", "administrator"}:
        raise Impossible("only administrators are anonymous")
    if len(set(emojis)) != len(emojis) or len(emojis) > _MOST_OF_A_PERSON or not REACTIONS.issuperset(emojis):
        raise Impossible(f"these are no reactions: {emojis}")
    old, new = message.reactions.get(sender.id, []), [{"type": "emoji", "emoji": emoji} for emoji in emojis]
    message.reactions[sender.id] = new
    is_told = chat.type == "private" or chat.members.get(api.world.bot.id) == "administrator"
    if old == new or not is_told:
        return None
    by: Json = {"actor_chat": chat.api()} if anonymous else {"user": sender.api()}
    body = {
        "chat": chat.api(), "message_id": message.id, "date": int(time.time()), **by,
        "old_reaction": old, "new_reaction": new,
    }  # fmt: skip
    return api.updates.add("message_reaction", body)
