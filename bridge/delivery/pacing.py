"""When a chat may be updated next, by what its channel says of its platform."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from channels.contract import ChannelCapabilities, ChatKind, ConversationKey, Pace
from channels.shared.pacing import Pacer, Urgency

_UPDATES_PER_SECOND = 1_000  # over all chats of a channel; a platform's own limit is the channel's to keep


class UpdatePacer:
    """Keeps updates of one chat below its `Pace`, and honours the silence a platform asks for. All topics of a chat share its pace.

    Only what is not final waits here; of a minute's requests a part is left to the final answers.
    """

    def __init__(
        self,
        capabilities: Mapping[str, ChannelCapabilities],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._pacers = {
            (channel, kind): _pacer(can.pace.get(kind, Pace(0.0)))
            for channel, can in capabilities.items()
            for kind in ChatKind
        }

    async def turn(self, key: ConversationKey, kind: ChatKind) -> None:
        """Wait until the chat may be updated, and take that moment."""
        pacer, chat = self._pacers[key.channel, kind], _chat(key)
        while (wait := pacer.delay(chat, self._clock(), Urgency.PREVIEW)) > 0:
            await self._sleep(wait)
        pacer.spend(chat, self._clock())

    def silence(self, key: ConversationKey, seconds: float) -> None:
        """The platform wants to hear nothing for this chat so long."""
        for kind in ChatKind:
            self._pacers[key.channel, kind].silence(_chat(key), self._clock() + seconds)


def _pacer(pace: Pace) -> Pacer:
    return Pacer(lambda _: pace, overall_per_second=_UPDATES_PER_SECOND)


def _chat(key: ConversationKey) -> str:
    return f"{key.account}\0{key.chat}"
