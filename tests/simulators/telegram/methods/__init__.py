"""The methods of the Bot API that are simulated, by their documented name."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..api import Arguments, BotApi
from . import account, chats, drafts, files, messages, receiving, topics

Method = Callable[[BotApi, Arguments], Awaitable[Any]]

METHODS: Mapping[str, Method] = {
    **account.METHODS,
    **chats.METHODS,
    **drafts.METHODS,
    **files.METHODS,
    **messages.METHODS,
    **receiving.METHODS,
    **topics.METHODS,
}
