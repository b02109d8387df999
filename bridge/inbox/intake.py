"""The door's threshold: who may speak, what was here before, and what is now stored."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import date, timedelta

from sqlalchemy import Connection

from bridge.clock import Clock
from bridge.dispatch.access import Refusal, may_be_told, refusal
from bridge.inbox.config import InboxConfig
from bridge.inbox.signs import ReceiptSigns
from bridge.persistence import deliveries, inbox
from bridge.persistence.database import Database
from bridge.persistence.deliveries import NewDelivery
from bridge.signals import Signals
from channels.contract import (
    Accepted,
    Addressed,
    ChannelSection,
    ConversationKey,
    InboundEvent,
    MessageReceived,
    Notice,
    NoticeKind,
    Outcome,
    Reply,
    ReplyPhase,
)

logger = logging.getLogger(__name__)

_MOST_REMEMBERED = 1000


class Intake:
    """Takes events of all channels."""

    def __init__(
        self,
        database: Database,
        sections: Mapping[str, ChannelSection],
        signs: ReceiptSigns,
        wake: Callable[[ConversationKey], None],
        signals: Signals,
        config: InboxConfig,
        clock: Clock,
    ) -> None:
        self._database = database
        self._sections = sections
        self._signs = signs
        self._wake = wake
        self._signals = signals
        self._config = config
        self._clock = clock
        self._logged: OrderedDict[tuple[str, str, date], None] = OrderedDict()

    async def submit(self, event: InboundEvent) -> Accepted:
        """Store an event that is for us from somebody who may speak. When this returns, the platform may be told so."""
        if isinstance(event, MessageReceived) and event.addressed is Addressed.AMBIENT:
            return Accepted(Outcome.REFUSED)
        refused = refusal(self._sections[event.conversation.channel], event)
        if refused is not None:
            await self._refuse(event, refused)
            return Accepted(Outcome.REFUSED)
        now = self._clock()
        available_at = now + timedelta(seconds=self._patience(event))
        event_id = await self._database.write(
            lambda connection: inbox.insert(connection, event, now=now, available_at=available_at), durable=True
        )
        if event_id is None:
            return Accepted(Outcome.DUPLICATE)
        self._wake(event.conversation)
        if isinstance(event, MessageReceived):
            self._signs.seen(event)
        return Accepted(Outcome.ACCEPTED, event_id)

    def _log_refusal(self, event: InboundEvent, day: date) -> None:
        who = (str(event.conversation), event.sender.id, day)
        if who in self._logged:
            return
        self._logged[who] = None
        while len(self._logged) > _MOST_REMEMBERED:
            self._logged.popitem(last=False)
        logger.info("refused %s in %s: not among those who may speak here", event.sender.id, event.conversation)

    def _patience(self, event: InboundEvent) -> float:
        if not isinstance(event, MessageReceived):
            return 0.0
        return self._config.album_seconds if event.group else self._config.debounce_seconds

    async def _refuse(self, event: InboundEvent, refused: Refusal) -> None:
        """Say so, once a day at most: to the operator, and to the person where only the person reads it."""
        now = self._clock()
        self._log_refusal(event, now.date())
        if not may_be_told(event) or not isinstance(event, MessageReceived):
            return
        reply = Reply((Notice(NoticeKind.INFO, refused.text),), ReplyPhase.FINAL)
        delivery = NewDelivery(
            id=f"refusal:{event.conversation}:{event.sender.id}:{now:%Y-%m-%d}",
            conversation=event.conversation,
            chat_kind=event.chat_kind,
            reply_to=event.message_id,
            body=reply,
        )

        def owe(connection: Connection) -> bool:
            return deliveries.insert(connection, delivery, now=now)

        if await self._database.write(owe):
            self._signals.notify("deliveries")
