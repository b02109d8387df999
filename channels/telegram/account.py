"""The bot's own account on Telegram: its token and its menu."""

import contextlib
import logging
from collections.abc import Sequence

from telegram import Bot, BotCommand, BotCommandScopeChat
from telegram.error import BadRequest, Forbidden, TelegramError

from channels.contract import ChannelNotConfigured, CommandInfo
from channels.telegram.config import TelegramConfig
from channels.telegram.ids import bot_id_of
from channels.telegram.request import AiohttpRequest

_LOGGER = logging.getLogger(__name__)
REFUSED = "Telegram refuses channels.telegram.bot_token; get a valid one from @BotFather"


class _Bot(Bot):
    """The library's bot, whose `repr` shows no token."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Bot({bot_id_of(self.token)})"

    @property
    def id(self) -> int:
        """The bot's user id, known before Telegram was asked."""
        return bot_id_of(self.token)


def made_bot(section: TelegramConfig, request: AiohttpRequest, poll_request: AiohttpRequest) -> Bot:
    """The bot; the library logs URLs, and with them the token, at DEBUG, so that level is closed to it. Raises ChannelNotConfigured."""
    if section.bot_token is None:
        raise ChannelNotConfigured("channels.telegram.bot_token is missing; get one from @BotFather")
    token = section.bot_token.get_secret_value()
    library = logging.getLogger("telegram")
    library.setLevel(max(library.level, logging.INFO))
    server = section.base_url.rstrip("/")
    try:
        bot_id_of(token)
    except ValueError:
        raise ChannelNotConfigured("channels.telegram.bot_token is no token; it looks like 123456:ABC…") from None
    return _Bot(token, f"{server}/bot", f"{server}/file/bot", request=request, get_updates_request=poll_request)


async def show_menu(bot: Bot, commands: Sequence[CommandInfo], admins: Sequence[str]) -> None:
    """Offer the commands, to admins theirs as well; a menu that cannot be set holds nothing up."""
    everybodys = [BotCommand(each.name, each.summary) for each in commands if not each.for_admins]
    menu = [BotCommand(each.name, each.summary) for each in commands]
    try:
        await bot.set_my_commands(everybodys)
        for admin in admins:
            with contextlib.suppress(BadRequest, Forbidden):  # an admin who has not written to the bot, or blocked it
                await bot.set_my_commands(menu, scope=BotCommandScopeChat(admin))
    except TelegramError as error:
        _LOGGER.warning("telegram: the menu of commands was not set (%s)", type(error).__name__)
