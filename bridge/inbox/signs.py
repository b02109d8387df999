"""The sign at a person's message that says it has arrived."""

import asyncio
import logging
from collections.abc import Mapping

from bridge.signals import Signals
from channels.contract import Channel, ChannelError, MessageReceived, ReceiptSign, SupportsReactions

logger = logging.getLogger(__name__)

_MOST_WAITING = 500
_SECONDS = 10.0
_PATIENCE_SECONDS = 1.0  # a word says more than a sign, to this person and to all others


class ReceiptSigns:
    """Puts signs on, behind the back of the intake: a slow platform must not hold up what comes in. Under a flood some are left out."""

    def __init__(self, channels: Mapping[str, Channel], signals: Signals, *, workers: int = 4) -> None:
        self._channels = channels
        self._signals = signals
        self._workers = workers
        self._waiting: asyncio.Queue[MessageReceived] = asyncio.Queue(_MOST_WAITING)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to put signs on."""
        self._tasks = [asyncio.create_task(self._work(), name="receipt-sign") for _ in range(self._workers)]

    async def stop(self) -> None:
        """Leave the rest without a sign."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def seen(self, event: MessageReceived) -> None:
        """Have the sign put on this message soon."""
        if isinstance(self._channels.get(event.conversation.channel), SupportsReactions) and not self._waiting.full():
            self._waiting.put_nowait(event)

    async def _work(self) -> None:
        while True:
            event = await self._waiting.get()
            await self._signals.first_words.all_said(_PATIENCE_SECONDS)
            channel = self._channels[event.conversation.channel]
            try:
                if isinstance(channel, SupportsReactions):
                    async with asyncio.timeout(_SECONDS):
                        await channel.react(event.conversation, event.message_id, ReceiptSign.SEEN)
            except (ChannelError, TimeoutError) as error:
                logger.info("no sign on a message: %s", error)
            except Exception:  # the edge of this task: one message's sign must not cost all later ones theirs
                logger.exception("no sign on a message")
