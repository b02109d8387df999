"""Forum topics, in supergroups that have them and in private chats where the bot has them enabled."""

from typing import Any

from ..api import Arguments, BotApi, find_chat
from ..errors import bad_request, broken_rule
from ..people import add_topic, remove_topic
from ..world import Chat, Topic

_NAME_CHARACTERS = range(1, 129)


def _forum(api: BotApi, chat_id: int | str) -> Chat:
    chat = find_chat(api, chat_id)
    if not chat.is_forum and not (chat.type == "private" and api.world.topics_in_private):
        raise bad_request("the chat is not a forum")
    return chat


def _topic(chat: Chat, topic_id: int) -> Topic:
    topic = chat.topics.get(topic_id)
    if topic is None:
        raise bad_request("message thread not found")
    return topic


async def create(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    chat = _forum(api, arguments["chat_id"])
    if len(arguments["name"]) not in _NAME_CHARACTERS:
        raise broken_rule("TOPIC_TITLE_INVALID")
    topic = add_topic(api, chat, api.world.bot, arguments["name"])
    return {"message_thread_id": topic.id, "name": topic.name, "icon_color": 7322096}


async def rename(api: BotApi, arguments: Arguments) -> bool:
    topic = _topic(_forum(api, arguments["chat_id"]), arguments["message_thread_id"])
    topic.name = arguments.get("name") or topic.name
    return True


async def close(api: BotApi, arguments: Arguments) -> bool:
    _topic(_forum(api, arguments["chat_id"]), arguments["message_thread_id"]).closed = True
    return True


async def reopen(api: BotApi, arguments: Arguments) -> bool:
    _topic(_forum(api, arguments["chat_id"]), arguments["message_thread_id"]).closed = False
    return True


async def remove(api: BotApi, arguments: Arguments) -> bool:
    chat = _forum(api, arguments["chat_id"])
    remove_topic(chat, _topic(chat, arguments["message_thread_id"]))
    return True


METHODS = {
    "createForumTopic": create,
    "editForumTopic": rename,
    "closeForumTopic": close,
    "reopenForumTopic": reopen,
    "deleteForumTopic": remove,
}
