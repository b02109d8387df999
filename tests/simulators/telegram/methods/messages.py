"""Texts: send, edit, delete; keyboards, reactions and answers to presses."""

import time
from typing import Any

from ..api import Arguments, BotApi, check_topic, find_chat, formatted_argument, own_message, reply_target
from ..errors import bad_request, broken_rule
from ..keyboards import checked_keyboard
from ..reactions import REACTIONS
from ..texts import CAPTION_LIMIT, MESSAGE_LIMIT
from ..utf16 import FormattedText, utf16_length
from ..world import Chat, Edit, Message

_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current "
    "content and reply markup of the message"
)
_DELETABLE_SECONDS = 48 * 3600
_PRESS_ANSWER_UNITS = 200


def new_message(api: BotApi, arguments: Arguments, chat: Chat, content: FormattedText) -> Message:
    """A message of the bot with what all sending methods have in common; not yet in the chat."""
    topic = arguments.get("message_thread_id")
    check_topic(api, chat, topic)
    reply_parameters = arguments.get("reply_parameters")
    reply_to = reply_target(chat, reply_parameters)
    if topic is None:
        check_topic(api, chat, _topic_of(reply_to))  # an answer goes where the message stands that it answers
    return Message(
        api.world.next_message_id(chat),
        chat,
        api.world.bot,
        content,
        api.clock.now(),
        markup=checked_keyboard(arguments.get("reply_markup")),
        reply_to=reply_to,
        quote=reply_parameters.get("quote") if reply_parameters else None,
        topic=topic if topic is not None else _topic_of(reply_to),
    )


def _topic_of(reply_to: Message | None) -> int | None:
    return reply_to.topic if reply_to is not None else None


def show(api: BotApi, message: Message) -> None:
    """Put the bot's message into its chat; any real message takes the chat's draft away."""
    message.edits.append(Edit(api.clock.now(), message.content.text))
    message.chat.messages[message.id] = message
    message.chat.drafts.pop(message.topic, None)
    api.journal.effect("sent", message.chat.id, message_id=message.id, text=message.content.text)


async def send_message(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    chat = find_chat(api, arguments["chat_id"])
    content = formatted_argument(arguments, "text", limit=MESSAGE_LIMIT)
    message = new_message(api, arguments, chat, content)
    show(api, message)
    return message.api()


async def edit_text(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    if "text" not in arguments.values:
        raise broken_rule("message text is empty")
    message = own_message(api, arguments, verb="edit")
    if message.media:
        raise bad_request("there is no text in the message to edit")
    content = formatted_argument(arguments, "text", limit=MESSAGE_LIMIT)
    return _edit(api, message, content, checked_keyboard(arguments.get("reply_markup")))


async def edit_caption(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    message = own_message(api, arguments, verb="edit")
    if not message.media:
        raise bad_request("there is no caption in the message to edit")
    content = formatted_argument(arguments, "caption", limit=CAPTION_LIMIT, may_be_empty=True)
    return _edit(api, message, content, checked_keyboard(arguments.get("reply_markup")))


async def edit_markup(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    message = own_message(api, arguments, verb="edit")
    return _edit(api, message, message.content, checked_keyboard(arguments.get("reply_markup")))


def _edit(api: BotApi, message: Message, content: FormattedText, markup: dict[str, Any] | None) -> dict[str, Any]:
    if (content, markup) == (message.content, message.markup):
        raise bad_request(_NOT_MODIFIED)
    message.content, message.markup = content, markup
    message.edit_date = int(time.time())
    message.edits.append(Edit(api.clock.now(), content.text))
    api.journal.effect("edited", message.chat.id, message_id=message.id, text=content.text)
    return message.api()


async def delete(api: BotApi, arguments: Arguments) -> bool:
    chat = find_chat(api, arguments["chat_id"])
    message = chat.message(arguments["message_id"])
    if message is None:
        raise bad_request("message to delete not found")
    own = message.sender.id == api.world.bot.id
    rightful = own or chat.type == "private" or chat.members.get(api.world.bot.id) == "administrator"
    if not rightful or api.clock.now() - message.at > _DELETABLE_SECONDS:
        raise bad_request("message can't be deleted")
    message.deleted = True
    api.journal.effect("deleted", chat.id, message_id=message.id)
    return True


async def delete_several(api: BotApi, arguments: Arguments) -> bool:
    for message_id in arguments["message_ids"]:
        values = {"chat_id": arguments["chat_id"], "message_id": message_id}
        await delete(api, Arguments(arguments.method, values, {}))
    return True


async def set_reaction(api: BotApi, arguments: Arguments) -> bool:
    chat = find_chat(api, arguments["chat_id"])
    message = chat.message(arguments["message_id"])
    if message is None:
        raise bad_request("message to react not found")
    reactions = arguments.get("reaction", [])
    if len(reactions) > 1:
        raise broken_rule("REACTIONS_TOO_MANY")
    if any(reaction["type"] != "emoji" or reaction["emoji"] not in REACTIONS for reaction in reactions):
        raise broken_rule("REACTION_INVALID")
    message.reactions[api.world.bot.id] = reactions
    api.journal.effect("reacted", chat.id, message_id=message.id, reactions=reactions)
    return True


async def answer_press(api: BotApi, arguments: Arguments) -> bool:
    shown = {name: arguments.get(name) for name in ("text", "show_alert", "url")}
    if utf16_length(shown["text"] or "") > _PRESS_ANSWER_UNITS:
        raise broken_rule("MESSAGE_TOO_LONG")
    api.presses.answer(arguments["callback_query_id"], shown, api.clock.now())
    api.journal.effect("answered", 0, query_id=arguments["callback_query_id"], **shown)
    return True


METHODS = {
    "sendMessage": send_message,
    "editMessageText": edit_text,
    "editMessageCaption": edit_caption,
    "editMessageReplyMarkup": edit_markup,
    "deleteMessage": delete,
    "deleteMessages": delete_several,
    "setMessageReaction": set_reaction,
    "answerCallbackQuery": answer_press,
}
