"""Chats and their members."""

from typing import Any

from ..api import Arguments, BotApi, find_chat
from ..errors import bad_request
from ..people import chat_member, set_bot_status


async def get_chat(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    gifts = dict.fromkeys(
        ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
    )
    chat = find_chat(api, arguments["chat_id"])
    return chat.api() | {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": gifts}


async def get_member(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    chat = find_chat(api, arguments["chat_id"])
    user = api.world.users.get(arguments["user_id"])
    if user is None:
        raise bad_request("user not found")
    return chat_member(user, chat.members.get(user.id, "left"))


async def get_administrators(api: BotApi, arguments: Arguments) -> list[dict[str, Any]]:
    chat = find_chat(api, arguments["chat_id"])
    ranked = [(api.world.users[user], status) for user, status in chat.members.items()]
    return [chat_member(user, status) for user, status in ranked if status in {"creator", "administrator"}]


async def leave(api: BotApi, arguments: Arguments) -> bool:
    chat = find_chat(api, arguments["chat_id"])
    if chat.type == "private":
        raise bad_request("chat member status can't be changed in private chats")
    set_bot_status(api, chat, api.world.bot, "left")
    api.journal.effect("left", chat.id)
    return True


METHODS = {
    "getChat": get_chat,
    "getChatMember": get_member,
    "getChatAdministrators": get_administrators,
    "leaveChat": leave,
}
