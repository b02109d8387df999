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
from channels.telegram.outbound import Outbound, TopicGone
from channels.telegram.styled_text import Styled
from channels.telegram.throttle import Throttle

_LOGGER = logging.getLogger(__name__)
_REFRESH_SECONDS = 20.0
_MOST_REFUSALS = 3
_MOST_DRAFTS = 1_000
_MOST_RUNS = 1_000


@dataclass(slots=True)
class _Draft:
    content: Styled
    can_stop: bool = False
    shown: Styled | None = None
    shown_at: float = 0.0
    later: asyncio.Task[None] | None = None
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
        """Show this text as the delivery's draft, at once or as soon as it is time. Raises ChatGone, ChannelNotConfigured."""
        draft = self._drafts.setdefault(target.delivery_id, _Draft(content))
        draft.content, draft.can_stop = content, run_id is not None
        if run_id is not None:
            self.runs[draft_id(target.delivery_id)] = run_id
        _bound(self._drafts, _MOST_DRAFTS)
        _bound(self.runs, _MOST_RUNS)
        await self._show_now_or_later(target, draft)

    async def refresh(self, target: DeliveryTarget) -> None:
        """Show again what would vanish."""
        draft = self._drafts.get(target.delivery_id)
        if draft is not None and self._is_due(target.delivery_id, draft):
            await self._show_now_or_later(target, draft)

    async def close(self, delivery_id: str) -> None:
        """Forget the draft, for the answer takes its place; nothing of it is under way when this returns."""
        draft = self._drafts.pop(delivery_id, None)
        if draft is None:
            return
        async with draft.turn:
            pass
        if draft.later is not None:
            draft.later.cancel()
            await asyncio.gather(draft.later, return_exceptions=True)

    async def close_all(self) -> None:
        """Forget every draft."""
        for delivery_id in tuple(self._drafts):
            await self.close(delivery_id)

    async def _show_now_or_later(self, target: DeliveryTarget, draft: _Draft) -> None:
        if draft.later is not None and not draft.later.done():
            return  # it will show the newest text
        if self._throttle.draft_delay(Address.of(target.conversation).chat_id) > 0:
            draft.later = asyncio.create_task(self._show_later(target, draft), name=f"draft {target.delivery_id}")
            return
        target.permit()
        await self._send(target, draft)

    async def _show_later(self, target: DeliveryTarget, draft: _Draft) -> None:
        chat_id = Address.of(target.conversation).chat_id
        try:
            while (wait := self._throttle.draft_delay(chat_id)) > 0:
                if wait > _REFRESH_SECONDS:
                    return  # silenced: a refresh comes back to it
                await asyncio.sleep(wait)
            target.permit()
            await self._send(target, draft)
        except Exception as error:  # noqa: BLE001 - the edge of the task: the answer itself meets whatever this is
            _LOGGER.debug("a draft was not shown: %s", type(error).__name__)

    async def _send(self, target: DeliveryTarget, draft: _Draft) -> None:
        address = Address.of(target.conversation)
        async with draft.turn:
            if not self._is_due(target.delivery_id, draft):
                return
            content = draft.content
            self._throttle.draft_shown(address.chat_id)
            try:
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
            case TopicGone():  # says nothing about drafts; the answer finds its place
                pass
            case ContentRejected():
                self._refusals[chat_id] = self._refusals.get(chat_id, 0) + 1
                _bound(self._refusals, _MOST_RUNS)
        _LOGGER.debug("a draft in chat %s was not shown: %s", chat_id, error)


def _bound(table: OrderedDict[Any, Any], most: int) -> None:
    while len(table) > most:
        table.popitem(last=False)
