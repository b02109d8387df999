"""Listens by long polling; an update is confirmed to Telegram only after it is safe in the house."""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable

from telegram.error import Conflict, TelegramError

from channels.contract import ChannelHealth, ChannelHost
from channels.telegram.receiving import RawUpdate, Take
from channels.telegram.standing import Standing

_GRACE_SECONDS = 20.0
_HASTE_SECONDS = 0.1
_CONFIRM_SECONDS = 2.0
_STANDING_BY = "another replica listens; this one takes over when it is gone"

Fetch = Callable[[int | None, int], Awaitable[list[RawUpdate]]]
Prepare = Callable[[], Awaitable[None]]


async def _nothing() -> None:
    pass


class Poller:
    """Asks for updates again and again, whatever goes wrong, and knows how it stands. Of several replicas one asks.

    `connect` is run before the first question and `take_over` whenever it becomes this replica's turn;
    `fetch(offset, timeout_seconds)` asks; `take` returns when an update is safe. They are taken in Telegram's order within a chat.
    """

    def __init__(
        self,
        connect: Prepare,
        fetch: Fetch,
        take: Take,
        *,
        timeout_seconds: int,
        take_over: Prepare = _nothing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._fetch = fetch
        self._take = take
        self._take_over = take_over
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._standing = Standing(clock)
        self._offset: int | None = None
        self._was_away = False
        self._has_turn = False
        self._is_leaving = False
        self._listening: asyncio.Task[None] | None = None

    def health(self) -> ChannelHealth:
        """Whether Telegram answered lately, and else what is wrong; a single failure is none yet."""
        health = self._standing.health()
        if health.ok and not self._has_turn:
            return ChannelHealth(ok=True, detail=_STANDING_BY)
        if health.ok and self._standing.silent_seconds > self._timeout_seconds + 2 * _GRACE_SECONDS:
            return ChannelHealth(ok=False, detail=f"no answer from Telegram for {self._standing.silent_seconds:.0f} s")
        return health

    async def connect(self) -> None:
        """Connect before the first question. Raises TelegramError, TimeoutError."""
        async with asyncio.timeout(_GRACE_SECONDS):
            await self._connect()
        self._standing.connected()

    def start(self, host: ChannelHost, task: str) -> None:
        """Listen whenever no other replica does; `task` names what only one of them may do."""
        self._listening = asyncio.create_task(host.run_alone(task, self.run), name="telegram polling")

    async def stop(self) -> None:
        """Stop listening; what was taken is confirmed, if Telegram answers at once."""
        if self._listening is None:
            return
        self._is_leaving = True
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._listening = None

    async def run(self) -> None:
        """Listen until cancelled."""
        self._has_turn = True
        try:
            await self._listen()
        finally:
            self._has_turn = False
            if self._is_leaving:
                with contextlib.suppress(TelegramError, TimeoutError):
                    await self._confirm()

    async def _listen(self) -> None:
        is_ready = False
        while True:
            try:
                if not self._standing.is_connected:
                    await self.connect()
                if not is_ready:
                    await self._take_over()
                    is_ready = True
                await self._poll_once()
            except Exception as error:  # noqa: BLE001 - the edge of the task: whatever it was, listening goes on
                self._was_away = not isinstance(error, Conflict)  # another poller shows only while a question is held
                await asyncio.sleep(self._standing.failed(error))

    async def _confirm(self) -> None:
        """Tell Telegram what was taken last, so that it is not delivered again."""
        if self._offset is not None:
            async with asyncio.timeout(_CONFIRM_SECONDS):
                await self._fetch(self._offset, 0)

    async def _poll_once(self) -> None:
        asked_at = self._clock()
        patience = 0 if self._was_away else self._timeout_seconds  # so that it is known at once when all is well
        async with asyncio.timeout(self._timeout_seconds + _GRACE_SECONDS):  # a connection can die without a word
            updates = await self._fetch(self._offset, patience)
        self._standing.heard()
        self._was_away = False
        await self._take_all(updates)
        self._standing.well()
        if updates:
            self._offset = max(update["update_id"] for update in updates) + 1
        elif (
            self._clock() - asked_at < _HASTE_SECONDS
        ):  # a server that does not hold the question would be asked for ever
            await asyncio.sleep(_HASTE_SECONDS)

    async def _take_all(self, updates: list[RawUpdate]) -> None:
        """Chats side by side, each in Telegram's order. Raises the first fault, when all have come to rest."""
        chats: defaultdict[object, list[RawUpdate]] = defaultdict(list)
        someone_moves = any(map(_is_move, updates))  # what is said in the new chat must not overtake that
        for update in updates:
            chats[None if someone_moves else _chat_of(update)].append(update)
        done = await asyncio.gather(*map(self._take_in_order, chats.values()), return_exceptions=True)
        for fault in filter(None, done):
            raise fault

    async def _take_in_order(self, updates: list[RawUpdate]) -> None:
        for update in updates:
            await self._take(update)


def _chat_of(update: RawUpdate) -> object:
    """The id of the chat in which something happened; None where an update names none."""
    for content in update.values():
        if isinstance(content, dict):
            message = content.get("message")
            chat = content.get("chat") or (message.get("chat") if isinstance(message, dict) else None)
            return chat.get("id") if isinstance(chat, dict) else None
    return None


def _is_move(update: RawUpdate) -> bool:
    message = update.get("message")
    return isinstance(message, dict) and bool(message.keys() & {"migrate_to_chat_id", "migrate_from_chat_id"})
