"""Has events decided: conversations side by side, each in order."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import Connection

from bridge.clock import Clock
from bridge.dispatch.decision import Effects
from bridge.dispatch.dispatcher import Dispatcher, NotYet
from bridge.errors import BridgeError, UnreadableEvent
from bridge.persistence import conversations, deliveries, inbox
from bridge.persistence.database import Database
from bridge.persistence.deliveries import NewDelivery
from bridge.runs.queue import RunQueue
from bridge.signals import Signals, Watch
from channels.contract import (
    Channel,
    ChannelError,
    ChatKind,
    ConversationKey,
    MessageReceived,
    Notice,
    NoticeKind,
    Press,
    PressVerdict,
    Reply,
    ReplyPhase,
    SupportsPressAnswer,
    SupportsPrivateHint,
)

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 5.0  # how soon something another process stored, or a postponed event, is noticed
_LANES = 64
_ATTEMPTS = 5
_PRESS_SECONDS = 10.0
_LINGER_SECONDS = 0.05
_NOT_TAKEN = "This could not be taken. Please try again."
_MESSAGE = "message_received"


class InboxWorker:
    """One lane a conversation, as long as it has something to decide."""

    def __init__(
        self,
        database: Database,
        dispatcher: Dispatcher,
        channels: Mapping[str, Channel],
        queue: RunQueue,
        signals: Signals,
        clock: Clock,
    ) -> None:
        self._database = database
        self._dispatcher = dispatcher
        self._channels = channels
        self._queue = queue
        self._signals = signals
        self._clock = clock
        self._lanes: dict[str, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(_LANES)
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin with what is stored already."""
        self._looking = asyncio.create_task(self._look_forever(), name="inbox-worker")

    async def stop(self) -> None:
        """Decide nothing more; what is stored stays."""
        tasks = [*self._lanes.values(), *([self._looking] if self._looking else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def wake(self, conversation: ConversationKey) -> None:
        """Something was stored for this conversation."""
        self._open_lane(str(conversation))

    async def _look_forever(self) -> None:
        with self._signals.watch("inbox") as watch:
            while True:
                try:
                    for conversation in await self._database.read(inbox.open_conversations):
                        await self._take_up(conversation)
                except Exception:  # the database may be away for a while; the events are safe in it
                    logger.exception("the inbox could not be read")
                await watch.wait(_LOOK_SECONDS)

    async def _take_up(self, conversation: str) -> None:
        try:
            ConversationKey.parse(conversation)
        except ValueError as error:
            said = str(error)
            logger.error("messages of a conversation that cannot be read are buried: %s", said)
            await self._database.write(lambda connection: inbox.bury_conversation(connection, conversation, error=said))
        else:
            self._open_lane(conversation)

    def _open_lane(self, conversation: str) -> None:
        if conversation in self._lanes:
            self._signals.notify(f"inbox:{conversation}")
        else:
            self._lanes[conversation] = asyncio.create_task(self._lane(conversation), name=f"lane-{conversation}")

    async def _lane(self, conversation: str) -> None:
        try:
            with self._signals.watch(f"inbox:{conversation}") as watch:
                while await self._step(ConversationKey.parse(conversation), watch):
                    pass
        except Exception:  # the edge of the lane's task: what is undecided is safe, and the next look finds it
            logger.exception("the lane of %s broke", conversation)
        finally:
            del self._lanes[conversation]  # at once, so that whoever wakes this conversation now opens a new lane

    async def _step(self, key: ConversationKey, watch: Watch) -> bool:
        """Decide one event, or wait for the next to be due; False when there is none."""
        with self._signals.first_words.awaited():
            async with self._room:
                decision = await self._decide(key)
            if isinstance(decision, Effects):
                self._pass_on(decision)
        if decision is None:
            return await watch.wait(0)  # what arrived while we looked found this lane still open
        if isinstance(decision, NotYet):
            await watch.wait(max(0.0, (decision.until - self._clock()).total_seconds()))
            return True
        if decision.press is not None:
            await self._answer_press(*decision.press)
        return decision.again or await watch.wait(_LINGER_SECONDS)

    async def _decide(self, key: ConversationKey) -> Effects | NotYet | None:
        try:
            return await self._dispatcher.decide_next(key)
        except UnreadableEvent as error:
            return await self._bury_unreadable(key, error)
        except Exception as error:  # noqa: BLE001 — the edge of a decision: nothing was committed; it is tried again, then buried
            return await self._postpone(key, error)

    async def _bury_unreadable(self, key: ConversationKey, unreadable: UnreadableEvent) -> NotYet:
        """It would be as unreadable at the next try, and those behind it can be decided."""
        logger.error("%s; it is buried: `threadbridge inbox list`", unreadable)
        now = self._clock()

        def bury(connection: Connection) -> None:
            inbox.bury_unreadable(connection, unreadable.event_id, error=str(unreadable))
            conversation = conversations.find(connection, key)
            if conversation is not None and unreadable.kind == _MESSAGE:
                word = _regret(unreadable.event_id, key, conversation.chat_kind)
                deliveries.insert(connection, word, now=now)

        await self._database.write(bury)
        self._signals.notify("deliveries")
        return NotYet(now)

    async def _postpone(self, key: ConversationKey, error: Exception) -> NotYet | None:
        events = await self._database.read(lambda connection: inbox.undecided(connection, key, limit=1))
        if not events:
            return None
        event = events[0]
        retryable = not isinstance(error, BridgeError) or error.retryable
        bury = not retryable or event.attempts + 1 >= _ATTEMPTS
        logger.error("event %d could not be decided%s", event.id, "; it is buried" if bury else "", exc_info=error)
        now = self._clock()
        until = now + timedelta(seconds=2**event.attempts)

        def put_off(connection: Connection) -> None:
            inbox.postpone(connection, event.id, until=until, error=repr(error)[:500], bury=bury)
            if bury and isinstance(event.event, MessageReceived):
                message = event.event
                word = _regret(event.id, message.conversation, message.chat_kind, reply_to=message.message_id)
                deliveries.insert(connection, word, now=now)

        await self._database.write(put_off)
        if bury:
            self._signals.notify("deliveries")
            if isinstance(event.event, Press):
                await self._answer_press(event.event, PressVerdict(accepted=False, text=_NOT_TAKEN))
        return NotYet(now if bury else until)

    def _pass_on(self, effects: Effects) -> None:
        for run_id, action in effects.to_stop.items():
            self._queue.interrupt(run_id, action)
        for thread_id in effects.threads_changed:
            self._signals.notify(f"thread:{thread_id}")
        if effects.runs_stored or effects.threads_changed:
            self._queue.wake()
        if effects.deliveries_stored:
            self._signals.notify("deliveries")

    async def _answer_press(self, press: Press, verdict: PressVerdict) -> None:
        """Where the platform has no place for it, a refusal is said to the person alone; what was accepted shows by itself."""
        channel: object = self._channels.get(press.conversation.channel)
        try:
            async with asyncio.timeout(_PRESS_SECONDS):
                if isinstance(channel, SupportsPressAnswer):
                    await channel.answer_press(press, verdict)
                elif isinstance(channel, SupportsPrivateHint) and not verdict.accepted:
                    await channel.hint(press.conversation, press.sender.id, verdict.text)
        except (ChannelError, TimeoutError) as error:
            logger.info("a press was not answered: %s", error)
        except Exception:  # the edge of a door: whatever is odd there, what comes next in the conversation is decided
            logger.exception("a press was not answered")


def _regret(
    event_id: int, conversation: ConversationKey, chat_kind: ChatKind, *, reply_to: str | None = None
) -> NewDelivery:
    """The word to a person whose message cannot be dealt with; why stands in the log and in the inbox."""
    notice = Notice(NoticeKind.ERROR, f"This message could not be taken (reference {event_id}). Please try again.")
    return NewDelivery(
        id=f"buried-{event_id}",
        conversation=conversation,
        chat_kind=chat_kind,
        reply_to=reply_to,
        body=Reply((notice,), ReplyPhase.FINAL),
    )
