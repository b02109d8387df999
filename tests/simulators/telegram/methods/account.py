"""The bot's own account: who it is, its commands."""

import re
from typing import Any

from ..api import Arguments, BotApi
from ..errors import broken_rule

_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_MOST_COMMANDS = 100
_DESCRIPTION_CHARACTERS = 256


async def get_me(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    return api.world.bot.api() | {
        "can_join_groups": True,
        "can_read_all_group_messages": not api.world.privacy_mode,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": api.world.topics_in_private,
    }


def _scope(arguments: Arguments) -> tuple[str, str]:
    scope = arguments.get("scope") or {"type": "default"}
    return repr(sorted(scope.items())), arguments.get("language_code", "")


async def set_commands(api: BotApi, arguments: Arguments) -> bool:
    commands = arguments["commands"]
    if len(commands) > _MOST_COMMANDS:
        raise broken_rule("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not _COMMAND.fullmatch(command["command"]):
            raise broken_rule("BOT_COMMAND_INVALID")
        if not 1 <= len(command["description"]) <= _DESCRIPTION_CHARACTERS:
            raise broken_rule("BOT_COMMAND_DESCRIPTION_INVALID")
    api.world.commands[_scope(arguments)] = commands
    return True


async def get_commands(api: BotApi, arguments: Arguments) -> list[dict[str, Any]]:
    return api.world.commands.get(_scope(arguments), [])


async def delete_commands(api: BotApi, arguments: Arguments) -> bool:
    api.world.commands.pop(_scope(arguments), None)
    return True


METHODS = {
    "getMe": get_me,
    "setMyCommands": set_commands,
    "getMyCommands": get_commands,
    "deleteMyCommands": delete_commands,
}
