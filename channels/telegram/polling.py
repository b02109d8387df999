"""Listens by long polling; an update is confirmed to Telegram only after it is safe in the house."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from telegram.error import Conflict, InvalidToken, TelegramError

from channels.contract import ChannelHealth
from channels.telegram.request import Flooded

_LOGGER = logging.getLogger(__name__)
_GRACE_SECONDS = 20.0
_HASTE_SECONDS = 0.1
_LONGEST_BACKOFF_SECONDS = 30.0
_CONFLICT = "another program polls Telegram with the same bot token, or a webhook is set; only one can listen"

RawUpdate = dict[str, Any]
Fetch = Callable[[int | None, int], Awaitable[list[RawUpdate]]]
Handle = Callable[[RawUpdate], Awaitable[None]]


class Poller:
    """Asks for updates again and again, whatever goes wrong, and knows how it stands.

    `connect` is run before the first question; `fetch(offset, timeout_seconds)` asks;
    `handle` returns when an update is safe. Updates are handled one after the other, in Telegram's order.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[None]],
        fetch: Fetch,
        handle: Handle,
        *,
        timeout_seconds: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._fetch = fetch
        self._handle = handle
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._offset: int | None = None
        self._connected = False
        self._heard_at = clock()
        self._failures = 0
        self._was_away = False
        self._problem = "not connected yet"

    def health(self) -> ChannelHealth:
        """Whether Telegram answered lately, and else what is wrong; a single failure is none yet."""
        silent_for = self._clock() - self._heard_at
        if self._problem and (self._failures > 1 or not self._connected):
            return ChannelHealth(ok=False, detail=self._problem)
        if silent_for > self._timeout_seconds + 2 * _GRACE_SECONDS:
            return ChannelHealth(ok=False, detail=f"no answer from Telegram for {silent_for:.0f} s")
        return ChannelHealth(ok=True)

    async def connect(self) -> None:
        """Connect before the first question. Raises TelegramError."""
        async with asyncio.timeout(_GRACE_SECONDS):
            await self._connect()
        self._connected = True
        self._heard()

    async def run(self) -> None:
        """Listen until cancelled."""
        while True:
            try:
                if not self._connected:
                    await self.connect()
                await self._poll_once()
            except Exception as error:  # noqa: BLE001 - the edge of the task: whatever it was, listening goes on
                await self._back_off(error)

    async def confirm(self) -> None:
        """Tell Telegram what was handled last, so that it is not delivered again. Raises TelegramError."""
        if self._offset is not None:
            async with asyncio.timeout(2):
                await self._fetch(self._offset, 0)

    async def _poll_once(self) -> None:
        asked_at = self._clock()
        patience = 0 if self._was_away else self._timeout_seconds  # so that it is known at once when all is well
        async with asyncio.timeout(self._timeout_seconds + _GRACE_SECONDS):  # a connection can die without a word
            updates = await self._fetch(self._offset, patience)
        self._heard()
        self._was_away = False
        for update in updates:
            await self._handle(update)
        self._failures = 0
        if updates:
            self._offset = max(update["update_id"] for update in updates) + 1
        elif (
            self._clock() - asked_at < _HASTE_SECONDS
        ):  # a server that does not hold the question would be asked for ever
            await asyncio.sleep(_HASTE_SECONDS)

    def _heard(self) -> None:
        self._heard_at = self._clock()
        self._problem = ""

    async def _back_off(self, error: Exception) -> None:
        self._failures += 1
        self._was_away = not isinstance(error, Conflict)  # another poller shows only while a question is held
        self._problem = _described(error)
        pause = min(2.0 ** min(self._failures - 2, 10), _LONGEST_BACKOFF_SECONDS)
        if isinstance(error, Flooded):
            pause = max(pause, error.seconds)
        _LOGGER.warning("telegram: %s; asking again in %.1f s", self._problem, pause)
        await asyncio.sleep(pause)


def _described(error: Exception) -> str:
    match error:
        case Conflict():
            return _CONFLICT
        case InvalidToken():
            return "Telegram refuses channels.telegram.bot_token"
        case TelegramError():
            return f"Telegram can't be reached ({error.message})"
        case TimeoutError():
            return "Telegram does not answer"
        case _:
            return f"an update could not be stored ({type(error).__name__})"
