"""What a test reads off a chat, and how it waits for something."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tests.simulators.telegram.views import ChatView

T = TypeVar("T")
MAY_BE_A_REPEAT = "This may be a repeat"


def answers(view: ChatView) -> list[str]:
    """The texts of the bot that stand in the chat."""
    return [message.text for message in view.from_bot]


async def until(look: Callable[[], Awaitable[T]], timeout_seconds: float = 30.0) -> T:
    """What `look` finds, once it finds anything."""
    async with asyncio.timeout(timeout_seconds):
        while not (found := await look()):  # noqa: ASYNC110  # nobody announces it
            await asyncio.sleep(0.1)
    return found
