"""Answers that grow in private chats, as drafts: previews that Telegram drops after 30 seconds unless shown again."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from channels.contract import ChannelError, ChannelNotConfigured, ChatGone, ContentRejected, DeliveryTarget, RateLimited
from channels.telegram.ids import Address, draft_id
from channels.telegram.markup import Styled
from channels.telegram.outbound import Outbound
from channels.telegram.throttle import Throttle

_LOGGER = logging.getLogger(__name__)
_REFRESH_SECONDS = 20.0
_MOST_REFUSALS = 3
_MOST_DRAFTS = 1_000
_MOST_RUNS = 10_000


@dataclass(slots=True)
class _Draft:
    content: Styled
    can_stop: bool
    shown: Styled | None = None
    shown_at: float = 0.0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class DraftBoard:
    """The drafts that stand now, and the run each belongs to (kept on, so that a late stop finds its own run)."""

    def __init__(self, outbound: Outbound, throttle: Throttle, clock: Callable[[], float] = time.monotonic) -> None:
        self._outbound = outbound
        self._throttle = throttle
        self._clock = clock
        self._drafts: OrderedDict[str, _Draft] = OrderedDict()
        self._refusals: OrderedDict[int, int] = OrderedDict()
        self.runs: OrderedDict[int, str] = OrderedDict()

    def takes_drafts(self, chat_id: int) -> bool:
        """Whether drafts work in this chat; one that failed says nothing yet, several in a row do."""
        return self._refusals.get(chat_id, 0) < _MOST_REFUSALS

    async def show(self, target: DeliveryTarget, content: Styled, run_id: str | None) -> None:
        """Show this text as the delivery's draft, or soon, if it is too early now. Raises ChatGone, ChannelNotConfigured."""
        draft = self._drafts.setdefault(target.delivery_id, _Draft(content, can_stop=run_id is not None))
        draft.content, draft.can_stop = content, run_id is not None
        _bound(self._drafts, _MOST_DRAFTS)
        if run_id is not None:
            self.runs[draft_id(target.delivery_id)] = run_id
            _bound(self.runs, _MOST_RUNS)
        await self._send(target, draft)

    async def refresh(self, target: DeliveryTarget) -> None:
        """Show again what would vanish, and what could not be shown before."""
        draft = self._drafts.get(target.delivery_id)
        if draft is not None:
            await self._send(target, draft)

    async def close(self, delivery_id: str) -> None:
        """Forget the draft once nothing of it is under way any more: the answer takes its place."""
        draft = self._drafts.pop(delivery_id, None)
        if draft is not None:
            async with draft.turn:
                draft.content = draft.shown or draft.content

    async def _send(self, target: DeliveryTarget, draft: _Draft) -> None:
        address = Address.of(target.conversation)
        async with draft.turn:
            if not self._is_due(target.delivery_id, draft):
                return
            try:
                await self._throttle.draft_turn(address.chat_id)
                target.permit()
                content = draft.content
                await self._outbound.draft(address, draft_id(target.delivery_id), content, can_stop=draft.can_stop)
            except ChannelError as error:
                self._note_failure(address.chat_id, error)
            else:
                draft.shown, draft.shown_at = content, self._clock()
                self._refusals.pop(address.chat_id, None)

    def _is_due(self, delivery_id: str, draft: _Draft) -> bool:
        if self._drafts.get(delivery_id) is not draft:
            return False
        return draft.shown != draft.content or self._clock() - draft.shown_at >= _REFRESH_SECONDS

    def _note_failure(self, chat_id: int, error: ChannelError) -> None:
        """A draft is a preview: what it lacks, the next one or the answer itself brings."""
        match error:
            case ChatGone() | ChannelNotConfigured():
                raise error
            case RateLimited():
                self._throttle.draft_refused(chat_id, error)
            case ContentRejected():
                self._refusals[chat_id] = self._refusals.get(chat_id, 0) + 1
                _bound(self._refusals, _MOST_RUNS)
        _LOGGER.debug("a draft in chat %s was not shown: %s", chat_id, error)


def _bound(table: OrderedDict[Any, Any], most: int) -> None:
    while len(table) > most:
        table.popitem(last=False)
