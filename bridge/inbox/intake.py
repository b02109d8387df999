"""The door's threshold: who may speak, what was here before, and what is now stored."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from bridge.clock import Clock
from bridge.dispatch.access import IfAdmitted, Refusal, judge
from bridge.inbox.config import InboxConfig
from bridge.inbox.participation import Participation
from bridge.inbox.refusals import Refusals
from bridge.inbox.signs import ReceiptSigns
from bridge.persistence import inbox, people
from bridge.persistence.database import Database
from bridge.persistence.people import PersonKey
from bridge.signals import Signals
from channels.contract import (
    Accepted,
    ChannelSection,
    ConversationKey,
    InboundEvent,
    MessageReceived,
    Outcome,
    Sender,
)


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
        self._refusals = Refusals(database, signals, clock)
        self._participation = Participation(database, sections, config.overheard_messages)

    async def submit(self, event: InboundEvent) -> Accepted:
        """Store an event that is for us from somebody who may speak. When this returns, the platform may be told so."""
        with self._signals.first_words.awaited():
            meant = await self._participation.meant(event)
            return await self._take(meant) if meant is not None else Accepted(Outcome.REFUSED)

    async def may_speak(self, conversation: ConversationKey, sender: Sender) -> bool:
        """See `ChannelHost.may_speak`."""
        return await self._objection(conversation, sender) is None

    async def _take(self, event: InboundEvent) -> Accepted:
        objection = await self._objection(event.conversation, event.sender)
        if objection is not None:
            await self._refusals.refuse(event, objection)
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

    async def _objection(self, conversation: ConversationKey, sender: Sender) -> Refusal | IfAdmitted | None:
        objection = judge(self._sections[conversation.channel], sender)
        if isinstance(objection, IfAdmitted):
            person = PersonKey(conversation.channel, conversation.account, sender.id)
            if await self._database.read(lambda connection: people.is_admitted(connection, person)):
                return None
        return objection

    def _patience(self, event: InboundEvent) -> float:
        if not isinstance(event, MessageReceived):
            return 0.0
        return self._config.album_seconds if event.group else self._config.debounce_seconds
