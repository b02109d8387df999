"""Decides each event, in the order of its conversation, in one short transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from agent import AssistantInfo
from agent.models import ModelInfo
from bridge import conversation_threads
from bridge.clock import Clock
from bridge.conversation_settings import ConversationSettings
from bridge.dispatch import answers, edits, feedback, turns
from bridge.dispatch.access import is_admin
from bridge.dispatch.commands import Call, Command, recognise, stop
from bridge.dispatch.decision import Effects
from bridge.dispatch.turns import Turn
from bridge.inbox.config import InboxConfig
from bridge.persistence import conversations, deliveries, inbox, runs, threads, transcript
from bridge.persistence.conversations import ConversationRecord
from bridge.persistence.database import Database
from bridge.persistence.deliveries import NewDelivery
from bridge.persistence.inbox import EventState, StoredEvent
from bridge.runs.config import RunsConfig
from bridge.runs.manager import stop_all
from bridge.runs.records import CancelAction, RunSpec, RunStatus
from bridge.runs.turn_input import as_said
from channels.contract import (
    ChannelSection,
    ChoiceSelected,
    ConversationKey,
    FeedbackGiven,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    PressVerdict,
    Reply,
    ReplyPhase,
    SendNowRequested,
    StopRequested,
    Text,
)


@dataclass(frozen=True, slots=True)
class NotYet:
    """The next event waits for company (an album, a burst) until this moment."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Rules:
    """What decisions depend on besides the event and the rows."""

    sections: Mapping[str, ChannelSection]
    runs: RunsConfig
    inbox: InboxConfig
    assistant_id: str
    models: Sequence[ModelInfo] = ()  # the first is the default
    assistants: Sequence[AssistantInfo] = ()


class Dispatcher:
    """Turns events into decisions."""

    def __init__(self, database: Database, rules: Rules, clock: Clock) -> None:
        self._database = database
        self._rules = rules
        self._clock = clock

    async def decide_next(self, key: ConversationKey) -> Effects | NotYet | None:
        """Decide the conversation's next event and commit; None when there is none."""
        return await self._database.write(lambda connection: self._decide_next(connection, key))

    def _decide_next(self, connection: Connection, key: ConversationKey) -> Effects | NotYet | None:
        now = self._clock()
        conversation = conversations.find(connection, key, lock=True)
        events = inbox.undecided(connection, key)
        if events and conversation is None:
            conversation = conversation_threads.of_event(connection, events[0].event, now=now)
            events = inbox.undecided(connection, key)  # again under the lock: another process may have been faster
        if not events or conversation is None:
            return None
        together = self._together(events)
        ready_at = max(stored.available_at for stored in together)
        if ready_at > now:
            return NotYet(ready_at)
        effects = Effects(again=len(events) > len(together))
        _Decision(self._rules, connection, conversation, together, now, effects).decide()
        return effects

    def _together(self, events: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
        """The first event and those that belong to its turn: one album, or one person's burst."""
        first = events[0].event
        if not isinstance(first, MessageReceived) or _stands_alone(first.text):
            return events[:1]
        mates = [events[0]]
        for stored in events[1:]:
            event = stored.event
            same_album = isinstance(event, MessageReceived) and event.group is not None and event.group == first.group
            in_burst = (
                self._rules.inbox.debounce_seconds > 0
                and isinstance(event, MessageReceived)
                and event.sender.id == first.sender.id
                and not _stands_alone(event.text)
            )
            if not same_album and not in_burst:
                break
            mates.append(stored)
        return mates


def _stands_alone(text: str) -> bool:
    return recognise(text) is not None or stop.is_stop_word(text)


class _Decision:
    """One decision, inside its transaction."""

    def __init__(
        self,
        rules: Rules,
        connection: Connection,
        conversation: ConversationRecord,
        events: Sequence[StoredEvent],
        now: datetime,
        effects: Effects,
    ) -> None:
        self._rules = rules
        self._connection = connection
        self._conversation = conversation
        self._events = events
        self._now = now
        self._effects = effects

    def decide(self) -> None:
        """Decide by what the person did."""
        match self._events[0].event:
            case MessageReceived() as event if called := recognise(event.text):
                self._command(event, *called)
            case MessageReceived(files=()) as event if stop.is_stop_word(event.text) and self._is_running:
                self._command(event, stop.COMMAND, "")
            case MessageReceived() as event:
                self._message(event)
            case ChoiceSelected() as event:
                self._press(event)
            case StopRequested() as event:
                self._stop(event)
            case FeedbackGiven() as event:
                self._effects.press = (event, feedback.take(self._connection, event, now=self._now))
            case SendNowRequested() as event:
                self._send_now(event)
            case MessageEdited() as event:
                edits.edit(self._connection, event, now=self._now, effects=self._effects)
            case MessageDeleted() as event:
                edits.take_back(self._connection, event, now=self._now, effects=self._effects)
        self._settle(EventState.DECIDED)

    def _message(self, event: MessageReceived) -> None:
        turn, spec = self._turn(), None
        question = answers.waiting_for(turn, event.sender.id)
        if question is not None and (spec := answers.answer_in_words(turn, question)) is None:
            return
        if not self._place(turn, spec):
            self._say(
                event, "Too many messages wait here already, so this one was not taken. Please send it again later."
            )

    def _place(self, turn: Turn, spec: RunSpec | None) -> bool:
        rules, most = self._rules, self._rules.runs.max_waiting_per_conversation
        if spec is None and rules.inbox.is_old(self._events[0].event, self._now):
            until = self._now + timedelta(seconds=rules.inbox.forget_asked_after_seconds)
            return turns.hold(turn, until, most_waiting=most)
        policy = self._settings.busy or self._section.busy
        return turns.place(turn, policy, most_waiting=most, spec=spec)

    @property
    def _is_running(self) -> bool:
        thread_id = self._conversation.thread_id
        open_runs = runs.open_on(self._connection, thread_id) if thread_id else ()
        return any(run.status is RunStatus.RUNNING for run in open_runs)

    @property
    def _section(self) -> ChannelSection:
        return self._rules.sections[self._conversation.key.channel]

    @property
    def _settings(self) -> ConversationSettings:
        return ConversationSettings.of(self._conversation.settings)

    @property
    def _assistant_id(self) -> str:
        """The assistant chosen here, as long as it is configured."""
        chosen = self._settings.assistant
        known = chosen in {assistant.assistant_id for assistant in self._rules.assistants}
        return chosen if chosen is not None and known else self._rules.assistant_id

    def _command(self, event: MessageReceived, command: Command, argument: str) -> None:
        section = self._section
        call = Call(
            connection=self._connection,
            conversation=self._conversation,
            event=event,
            argument=argument,
            assistant_id=self._assistant_id,
            is_admin=is_admin(section, event.sender.id),
            section=section,
            models=self._rules.models,
            assistants=self._rules.assistants,
            now=self._now,
            effects=self._effects,
        )
        refused = f"`/{command.name}` is for the admins of this bot."
        self._say(event, command.run(call) if command.is_for(call) else refused)

    def _press(self, press: ChoiceSelected) -> None:
        record = answers.found(self._connection, press.token, self._now, self._effects)
        admin = is_admin(self._section, press.sender.id)
        problem = answers.objection(record, press, self._conversation, is_admin=admin) if record else answers.GONE
        if record is None or problem is not None:
            self._effects.press = (press, PressVerdict(accepted=False, text=problem or answers.GONE))
        else:
            self._effects.press = (press, answers.answer_by_press(self._turn(), record, press))

    def _stop(self, event: StopRequested) -> None:
        thread_id = self._conversation.thread_id
        open_runs = runs.open_on(self._connection, thread_id) if thread_id else ()
        meant = [run for run in open_runs if event.run_id in {None, run.run_id}]
        self._effects.to_stop |= stop_all(self._connection, meant, CancelAction.INTERRUPT, now=self._now)
        if thread_id:
            self._effects.threads_changed.add(thread_id)
        verdict = (
            PressVerdict(accepted=True, text="Stopped.") if meant else PressVerdict(accepted=False, text=turns.ENDED)
        )
        self._effects.press = (event, verdict)

    def _send_now(self, event: SendNowRequested) -> None:
        thread_id = self._conversation.thread_id
        verdict = (
            turns.send_now(self._connection, thread_id, event.run_id, now=self._now, effects=self._effects)
            if thread_id
            else PressVerdict(accepted=False, text=turns.ENDED)
        )
        self._effects.press = (event, verdict)

    def _turn(self) -> Turn:
        thread_id = conversation_threads.with_thread(
            self._connection, self._conversation, self._assistant_id, now=self._now
        )
        conversation = conversation_threads.pointed_at(self._conversation, thread_id)
        return Turn(
            self._connection, conversation, thread_id, self._assistant_id, self._events, self._now, self._effects
        )

    def _say(self, event: MessageReceived, text: str) -> None:
        """Answer on behalf of the house, and write both down where the conversation stands now."""
        delivery = NewDelivery(
            id=f"event-{self._events[0].id}",
            conversation=self._conversation.key,
            chat_kind=self._conversation.chat_kind,
            reply_to=event.message_id,
            body=Reply((Text("answer", text),), ReplyPhase.FINAL),
        )
        if not deliveries.insert(self._connection, delivery, now=self._now):
            return
        self._effects.deliveries_stored = True
        current = conversations.find(self._connection, self._conversation.key)
        thread_id = current.thread_id if current else None
        if thread_id is not None and threads.find(self._connection, thread_id, lock=True) and delivery.body is not None:
            transcript.append_person(self._connection, thread_id, delivery.id, as_said(event), now=self._now)
            transcript.append_reply(self._connection, thread_id, delivery.id, delivery.body, now=self._now)

    def _settle(self, state: EventState) -> None:
        """What no branch has settled is done."""
        inbox.settle_rest(self._connection, [stored.id for stored in self._events], state, now=self._now)
