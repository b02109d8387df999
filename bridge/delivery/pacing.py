"""When a chat may be updated next."""

import asyncio
import time
from collections import OrderedDict

from channels.contract import ChannelCapabilities, ChatKind, ConversationKey

_MOST_CHATS = 10_000


class Pacer:
    """Keeps updates of one chat apart, and honours the silence a platform asks for. All topics of a chat share its pace."""

    def __init__(self) -> None:
        self._next: OrderedDict[tuple[str, str, str], float] = OrderedDict()

    async def turn(self, key: ConversationKey, kind: ChatKind, capabilities: ChannelCapabilities) -> None:
        """Wait until the chat may be updated, and take that moment."""
        pace = capabilities.pace.get(kind)
        interval = pace.interval_seconds if pace else 0.0
        while (wait := self._next.get(_chat(key), 0.0) - time.monotonic()) > 0:  # noqa: ASYNC110 — it waits for a time
            await asyncio.sleep(wait)
        self._set(key, time.monotonic() + interval)

    def silence(self, key: ConversationKey, seconds: float) -> None:
        """The platform wants to hear nothing for this chat so long."""
        self._set(key, max(self._next.get(_chat(key), 0.0), time.monotonic() + seconds))

    def _set(self, key: ConversationKey, moment: float) -> None:
        self._next[_chat(key)] = moment
        self._next.move_to_end(_chat(key))
        while len(self._next) > _MOST_CHATS:
            self._next.popitem(last=False)


def _chat(key: ConversationKey) -> tuple[str, str, str]:
    return key.channel, key.account, key.chat
