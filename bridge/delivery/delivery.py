"""One answer on its way: the newest snapshot, at the chat's pace, until the last one stands."""

import asyncio
import logging
import random
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from bridge import moved_chats
from bridge.clock import Clock
from bridge.conversation_settings import ConversationSettings
from bridge.delivery.composer import DROPPED, STOPPED, Composition, compose
from bridge.delivery.events import derive
from bridge.delivery.pacing import UpdatePacer
from bridge.delivery.standing import Standing
from bridge.leases import Lease
from bridge.persistence import conversations, deliveries, transcript
from bridge.persistence.database import Database
from bridge.persistence.deliveries import DeliveryRecord, DeliveryState
from bridge.runs.records import RunRecord
from bridge.runs.stream import StreamHub
from bridge.signals import Signals, Watch
from channels.contract import (
    Channel,
    ChannelError,
    ChannelSection,
    ChatGone,
    ChatMoved,
    ContentRejected,
    DeliveryReceipt,
    DeliveryTarget,
    Notice,
    NoticeKind,
    OutcomeUnknown,
    RateLimited,
    Reply,
    ReplyPhase,
    SupportsActivity,
)

logger = logging.getLogger(__name__)

_TRIES = 4  # with the task kept; after that the delivery is put off, and taken up again later
_LONGEST_WAIT = timedelta(minutes=5)
_GIVE_UP_ATTEMPTS = 300  # about a day of five-minute waits
_POLL_SECONDS = 2.0
_REST = 3.0  # after an update, so many times what it took: where everything is slow, updates are what can be spared
_LONGEST_QUEUE_SECONDS = 120.0
_PATIENCE_SECONDS = 1.0  # "typing" can wait for the first words of all others


@dataclass(frozen=True, slots=True)
class DeliveryResources:
    """What every delivery needs of the house."""

    database: Database
    hub: StreamHub
    signals: Signals
    pacer: UpdatePacer
    clock: Clock
    owner: str


class Delivery:
    """Shows one turn's answer in one conversation."""

    def __init__(
        self,
        record: DeliveryRecord,
        lease: Lease,
        channel: Channel,
        section: ChannelSection,
        resources: DeliveryResources,
    ) -> None:
        self._record = record
        self._lease = lease
        self._channel = channel
        self._section = section
        self._house = resources
        self._receipt = DeliveryReceipt()
        self._latest = Reply(run_id=record.run_id)
        self._changed = asyncio.Event()
        self._first_word = resources.signals.first_words.begin()
        self._streams = False
        self._finished_topic = f"delivered:{record.conversation}"
        self._target = DeliveryTarget(
            delivery_id=record.id,
            conversation=record.conversation,
            chat_kind=record.chat_kind,
            permit=lease.check,
            record=self._store,
            reply_to=record.reply_to,
        )

    async def run(self) -> None:
        """Deliver to the end, or put off; once. Raises LeaseExpired when somebody else goes on with it."""
        try:
            await self._deliver()
        finally:
            self._first_word.end()

    async def _deliver(self) -> None:
        house = self._house
        if self._record.epoch > 1:  # somebody was at it before
            self._receipt = await house.database.read(
                lambda connection: deliveries.receipt_of(connection, self._record.id)
            )
        try:
            if self._record.body is not None:
                await self._show_last(self._record.body)
            else:
                await self._follow(self._record.run_id or "")
            await self._finish(DeliveryState.SENT)
        except RateLimited as error:
            await self._put_off(error, timedelta(seconds=error.retry_after_seconds))
        except ChatMoved as error:
            await self._move(error.new_chat)
        except ChatGone as error:
            logger.info("delivery %s ends, for nobody is there to read it: %s", self._record.id, error)
            await self._finish(DeliveryState.FAILED, str(error))
        except ChannelError as error:
            may_pass = error.retryable or isinstance(error, OutcomeUnknown)
            if may_pass and self._record.attempts < _GIVE_UP_ATTEMPTS:
                await self._put_off(error, timedelta(seconds=2 ** min(self._record.attempts, 9)))
            else:
                logger.error("delivery %s failed for good: %s", self._record.id, error)
                await self._finish(DeliveryState.FAILED, str(error))

    async def _follow(self, run_id: str) -> None:
        """Show the run's answer as it grows; one that has ended already is shown as the transcript has it."""
        with self._house.signals.watch(f"run:{run_id}") as watch:
            standing, chosen = await self._house.database.read(self._standing_and_settings)
            await self._follow_from(standing, chosen, watch)

    async def _follow_from(self, standing: Standing, chosen: ConversationSettings, watch: Watch) -> None:
        run = standing.run
        self._streams = self._channel.capabilities.streams and (
            self._section.streaming if chosen.streaming is None else chosen.streaming
        )
        if run.status.is_final:
            await self._wait_for_earlier_answers(run.run_id)
            await self._show_last(await self._final_reply(run))
            return
        reader = asyncio.create_task(self._read(standing, watch), name=f"read-{run.run_id}")
        busy = asyncio.create_task(self._show_activity(), name=f"activity-{run.run_id}")
        reader.add_done_callback(lambda _: self._changed.set())
        try:
            await self._show_growing(reader)
            await self._wait_for_earlier_answers(run.run_id)
            await self._show_last(self._latest)
        finally:
            for task in (reader, busy):
                task.cancel()
            await asyncio.gather(reader, busy, return_exceptions=True)

    async def _show_growing(self, reader: "asyncio.Task[None]") -> None:
        shown: Reply | None = None
        while True:
            await self._changed.wait()
            self._changed.clear()
            self._first_word.end()
            if reader.done():
                reader.result()
                break
            if self._latest != shown and self._shows_now(self._latest):
                await self._pace()
                shown = self._latest  # after the wait: only the newest is worth a request
                started = time.monotonic()
                if not shown.is_final and not await self._show_if_possible(shown):  # the last one has its turn below
                    shown = None
                    self._changed.set()
                await asyncio.wait({reader}, timeout=_REST * (time.monotonic() - started))

    def _shows_now(self, reply: Reply) -> bool:
        """Without streaming an answer is shown when it is whole; that a turn waits is said all the same."""
        return self._streams or reply.phase is ReplyPhase.QUEUED

    async def _wait_for_earlier_answers(self, run_id: str) -> None:
        """Answers stand in the order of their turns, also where the platform holds one back; but none waits for ever."""
        self._first_word.end()
        house, deadline = self._house, time.monotonic() + _LONGEST_QUEUE_SECONDS
        with house.signals.watch(self._finished_topic) as watch:
            while await house.database.read(lambda connection: deliveries.is_behind(connection, run_id)):
                if time.monotonic() >= deadline:
                    return
                await watch.wait(_POLL_SECONDS)

    async def _read(self, standing: Standing, watch: Watch) -> None:
        """Keep `_latest` the newest snapshot until the run has ended."""
        run = standing.run
        if not await self._begins_at_once(standing, watch):
            await self._wait_for_turn(run)
        composition = Composition.begin(run.run_id)
        async with aclosing(self._house.hub.read(run.run_id)) as parts:
            async for part in parts:
                before = composition
                for event in derive(part):
                    composition = compose(composition, event)
                if composition is not before or part.mode == "metadata":
                    self._set(composition.reply)
        if not self._latest.is_final:
            self._set(await self._final_reply((await self._house.database.read(self._standing)).run))

    async def _begins_at_once(self, standing: Standing, watch: Watch) -> bool:
        """Whether this process drives the run by now, as it does nearly always: then there is nothing to look up."""
        if standing.waits:
            return False
        self._set(standing.reply)
        if standing.is_pending:
            await watch.wait(_POLL_SECONDS)
        return self._house.hub.drives(standing.run.run_id)

    async def _wait_for_turn(self, run: RunRecord) -> None:
        """Say that the turn waits, and behind how many, until it begins."""
        with self._house.signals.watch(f"run:{run.run_id}", f"thread:{run.thread_id}") as watch:
            while (standing := await self._house.database.read(self._standing)).is_pending:
                self._set(standing.reply)
                await watch.wait(_POLL_SECONDS)

    async def _final_reply(self, run: RunRecord) -> Reply:
        """The whole answer as it was written down with the run's end; a turn stopped before it began has none."""
        reply = await self._house.database.read(lambda connection: transcript.reply_of(connection, run.run_id))
        said = STOPPED if run.attempt else DROPPED
        return reply or Reply((Notice(NoticeKind.STOPPED, said),), ReplyPhase.FINAL, run.run_id)

    def _set(self, reply: Reply) -> None:
        self._latest = reply
        self._changed.set()

    async def _show_if_possible(self, reply: Reply) -> bool:
        """An intermediate snapshot. False when nothing happened: the newest is to be tried at the next turn."""
        try:
            await self._show(reply)
        except RateLimited as error:
            self._house.pacer.silence(self._record.conversation, error.retry_after_seconds)
            return False
        except (OutcomeUnknown, ContentRejected) as error:
            logger.info("an update of %s may not stand there: %s", self._record.id, error)
        except ChannelError as error:
            if not error.retryable:
                raise
            self._house.pacer.silence(self._record.conversation, 1.0)
            return False
        return True

    async def _show_last(self, reply: Reply) -> None:
        """The final snapshot, at once (a channel keeps its platform's limits itself); tried again until it stands or an error is final."""
        for tries_left in reversed(range(_TRIES)):
            try:
                await self._show(reply)
            except RateLimited as error:
                if not tries_left:
                    raise
                self._house.pacer.silence(self._record.conversation, error.retry_after_seconds)
                await self._pace()
            except ChannelError as error:
                if not tries_left or not error.retryable:  # what may stand there already is not repeated in haste
                    raise
                await asyncio.sleep(0.5 * 2 ** (_TRIES - tries_left) * random.uniform(0.5, 1.5))  # noqa: S311 — jitter
            else:
                return

    async def _show(self, reply: Reply) -> None:
        self._lease.check()
        self._first_word.end()
        receipt = await self._channel.deliver(self._target, reply, self._receipt)
        await self._store(receipt)

    async def _pace(self) -> None:
        await self._house.pacer.turn(self._record.conversation, self._record.chat_kind)

    async def _store(self, receipt: DeliveryReceipt) -> None:
        """Write down what changed on the platform. Raises LeaseExpired when somebody else is at it by now."""
        old = self._receipt
        if receipt != old:
            record, owner = self._record, self._house.owner
            await self._house.database.write(
                lambda connection: deliveries.record(connection, record, owner, old, receipt)
            )
            self._receipt = receipt

    async def _show_activity(self) -> None:
        """Typing, anew before it lapses, as long as the answer is being written."""
        channel = self._channel
        await self._house.signals.first_words.all_said(_PATIENCE_SECONDS)
        while isinstance(channel, SupportsActivity):
            if self._latest.phase is ReplyPhase.WORKING:
                with suppress(ChannelError):
                    self._lease.check()
                    await channel.show_activity(self._target)
            await asyncio.sleep(channel.capabilities.activity_refresh_seconds)

    def _standing_and_settings(self, connection: Connection) -> tuple[Standing, ConversationSettings]:
        stored = conversations.settings_of(connection, self._record.conversation)
        return self._standing(connection), ConversationSettings.of(stored)

    def _standing(self, connection: Connection) -> Standing:
        return Standing.of(connection, self._record.run_id or "")

    async def _finish(self, state: DeliveryState, error: str | None = None) -> None:
        record, house = self._record, self._house
        finished = await house.database.write(
            lambda connection: deliveries.finish(connection, record, house.owner, state, now=house.clock(), error=error)
        )
        house.signals.notify(self._finished_topic)
        if not finished:
            house.signals.notify("deliveries")  # what it shows has changed meanwhile: it is taken up again

    async def _move(self, new_chat: str) -> None:
        """Leave it to whoever takes it up next, this process perhaps, to show it where the chat is now."""
        record, house = self._record, self._house
        logger.info("delivery %s moves with its chat to %s", record.id, new_chat)
        await house.database.write(
            lambda connection: moved_chats.move(connection, record.conversation, new_chat, now=house.clock())
        )
        for topic in ("inbox", "deliveries"):
            house.signals.notify(topic)

    async def _put_off(self, error: Exception, wait: timedelta) -> None:
        record, house = self._record, self._house
        logger.warning("delivery %s is put off: %s", record.id, error)
        until = house.clock() + min(wait, _LONGEST_WAIT)
        await house.database.write(
            lambda connection: deliveries.put_off(
                connection, record, house.owner, until=until, error=str(error), now=house.clock()
            )
        )
