"""What is said to those who may not speak, and what is kept of it."""

import logging
from collections import OrderedDict
from datetime import date, datetime

from sqlalchemy import Connection

from bridge.clock import Clock
from bridge.dispatch import pairing
from bridge.dispatch.access import IfAdmitted, Refusal, may_be_told
from bridge.persistence import deliveries, people
from bridge.persistence.database import Database
from bridge.persistence.deliveries import NewDelivery
from bridge.persistence.people import AccessAction
from bridge.signals import Signals
from channels.contract import InboundEvent, MessageReceived, Notice, NoticeKind, Reply, ReplyPart, ReplyPhase, Text

logger = logging.getLogger(__name__)

_MOST_REMEMBERED = 1000
_HOW_TO_ADMIT = "; `threadbridge access list` shows who asks to be let in"


class Refusals:
    """Says no: once a day to the operator and in the access log, and once to the person where only the person reads it."""

    def __init__(self, database: Database, signals: Signals, clock: Clock) -> None:
        self._database = database
        self._signals = signals
        self._clock = clock
        self._noted: OrderedDict[tuple[str, str, date], None] = OrderedDict()

    async def refuse(self, event: InboundEvent, reason: Refusal | IfAdmitted) -> None:
        """Note it and, in a private chat, answer a message: with a code to be let in by, where admins may."""
        now = self._clock()
        is_told = may_be_told(event) and isinstance(event, MessageReceived)
        hint = _HOW_TO_ADMIT if is_told and isinstance(reason, IfAdmitted) else ""
        is_first = self._is_first_today(event, now.date(), hint)
        if not is_first and not is_told:
            return

        def answer(connection: Connection) -> bool:
            if is_first:
                who, where = pairing.person_of(event), event.conversation
                people.note(connection, AccessAction.REFUSED, who, now=now, conversation=where)
            return is_told and _owe(connection, event, reason, now)

        if await self._database.write(answer):
            self._signals.notify("deliveries")

    def _is_first_today(self, event: InboundEvent, day: date, hint: str) -> bool:
        who = (str(event.conversation), event.sender.id, day)
        if who in self._noted:
            return False
        self._noted[who] = None
        while len(self._noted) > _MOST_REMEMBERED:
            self._noted.popitem(last=False)
        where = event.conversation
        logger.info("refused %s in %s: not among those who may speak here%s", event.sender.id, where, hint)
        return True


def _owe(connection: Connection, event: InboundEvent, reason: Refusal | IfAdmitted, now: datetime) -> bool:
    part: ReplyPart
    if isinstance(reason, Refusal):
        once, part = f"{now:%Y-%m-%d}", Notice(NoticeKind.INFO, reason.text)
    else:
        once, text = pairing.ask(connection, event, now=now)
        part = Text("request", text)  # what is to be copied is shown as code
    delivery = NewDelivery(
        id=f"refusal:{event.conversation}:{event.sender.id}:{once}",
        conversation=event.conversation,
        chat_kind=event.chat_kind,
        reply_to=event.message_id if isinstance(event, MessageReceived) else None,
        body=Reply((part,), ReplyPhase.FINAL),
    )
    return deliveries.insert(connection, delivery, now=now)
