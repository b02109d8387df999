"""What a method of the simulated Bot API works with, and the checks many methods share."""

from dataclasses import dataclass
from typing import Any

from ..clock import ScaledClock
from .errors import Refused, bad_request, broken_rule, forbidden
from .faults import Faults
from .journal import Journal
from .limits import RateLimits
from .parameters import SentFile
from .presses import Presses
from .texts import formatted
from .updates import UpdateQueue
from .utf16 import FormattedText
from .world import GENERAL_TOPIC, Chat, Message, World

Json = dict[str, Any]
_GONE = {"left": "bot is not a member of the {} chat", "kicked": "bot was kicked from the {} chat"}


@dataclass(frozen=True, slots=True)
class BotApi:
    """The parts of the simulator, handed to every method."""

    token: str
    clock: ScaledClock
    world: World
    updates: UpdateQueue
    limits: RateLimits
    faults: Faults
    journal: Journal
    presses: Presses


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's checked parameters and the files that came with it."""

    method: str
    values: Json
    files: dict[str, SentFile]

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def find_chat(api: BotApi, chat_id: int | str) -> Chat:
    """The chat, if the bot may speak there; raises `Refused` otherwise."""
    chat = api.world.chats.get(chat_id) if isinstance(chat_id, int) else _by_text(api.world, chat_id)
    if chat is None:
        raise bad_request("chat not found")
    if chat.migrated_to is not None:
        sentence = "Bad Request: group chat was upgraded to a supergroup chat"
        raise Refused(400, sentence, migrate_to_chat_id=chat.migrated_to)
    status = chat.members.get(api.world.bot.id, "left")
    if chat.person is not None and status == "kicked":
        raise forbidden("bot was blocked by the user")
    if chat.person is not None and status == "left":
        raise forbidden("bot can't initiate conversation with a user")
    if status in _GONE:
        raise forbidden(_GONE[status].format(chat.type))
    return chat


def _by_text(world: World, chat_id: str) -> Chat | None:
    return world.chats.get(int(chat_id)) if chat_id.lstrip("-").isdigit() else None


def check_topic(api: BotApi, chat: Chat, topic: int | None) -> None:
    """Raises `Refused` for a thread that is not there; General has no id of its own when sending."""
    if topic is None:
        return
    found = chat.topics.get(topic)
    if topic in chat.former_topics:
        raise bad_request("message thread not found")
    if found is None or topic == GENERAL_TOPIC:
        raise broken_rule("message thread not found")
    if found.closed and chat.members.get(api.world.bot.id) != "administrator":
        raise bad_request("TOPIC_CLOSED")


def reply_target(chat: Chat, reply_parameters: Json | None) -> Message | None:
    """The message replied to; None when there is none and the call allows that."""
    if reply_parameters is None:
        return None
    found = chat.message(reply_parameters["message_id"])
    if found is None and not reply_parameters.get("allow_sending_without_reply"):
        raise bad_request("message to be replied not found")
    quote = reply_parameters.get("quote")
    if found is not None and quote is not None and quote not in found.content.text:
        raise bad_request("QUOTE_TEXT_INVALID")
    return found


def formatted_argument(arguments: Arguments, name: str, *, limit: int, may_be_empty: bool = False) -> FormattedText:
    """The text or caption of a call with its entities."""
    entities = "entities" if name == "text" else "caption_entities"
    parse_mode = arguments.get("parse_mode")
    return formatted(
        arguments.get(name, ""), parse_mode, arguments.get(entities), limit=limit, may_be_empty=may_be_empty
    )


def own_message(api: BotApi, arguments: Arguments, *, verb: str) -> Message:
    """The bot's message that a call wants to change."""
    if "chat_id" not in arguments.values or "message_id" not in arguments.values:
        raise broken_rule("message identifier is not specified")
    chat = find_chat(api, arguments["chat_id"])
    message = chat.message(arguments["message_id"])
    if message is None:
        raise bad_request(f"message to {verb} not found")
    if message.sender.id != api.world.bot.id:
        raise bad_request("message can't be edited")
    return message
