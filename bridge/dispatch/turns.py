"""A message becomes a turn: its place among the others, by the conversation's busy policy."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from bridge.conversation_settings import ConversationSettings
from bridge.dispatch.decision import Effects
from bridge.persistence import conversations, deliveries, inbox, runs, threads, transcript
from bridge.persistence.conversations import ConversationRecord
from bridge.persistence.deliveries import NewDelivery
from bridge.persistence.inbox import EventState, StoredEvent
from bridge.runs.manager import stop_all
from bridge.runs.records import CancelAction, MultitaskStrategy, NewRun, RunRecord, RunSpec, RunStatus
from bridge.runs.turn_input import as_said
from channels.contract import BusyPolicy, MessageReceived, PressVerdict

ENDED = "This has ended already."
_BEGUN = "This is being answered already."


@dataclass(frozen=True, slots=True)
class Turn:
    """Events that are to be answered together, in a conversation whose thread is locked by the transaction."""

    connection: Connection
    conversation: ConversationRecord
    thread_id: str
    assistant_id: str
    events: Sequence[StoredEvent]
    now: datetime
    effects: Effects

    @property
    def first(self) -> StoredEvent:
        """The event that gives the turn its identity."""
        return self.events[0]


def place(turn: Turn, policy: BusyPolicy, *, most_waiting: int, spec: RunSpec | None = None) -> bool:
    """Find the turn's place; False (and nothing done) if too many wait already. `spec` is what it is to do, if not just its messages."""
    open_runs = [run for run in runs.open_on(turn.connection, turn.thread_id) if run.held_until is None]
    running = next((run for run in open_runs if run.status is RunStatus.RUNNING and run.cancel_action is None), None)
    if policy is BusyPolicy.STEER and running is not None and not _has_files(turn):
        _steer(turn, running)
    elif policy is BusyPolicy.COLLECT and (waiting := _joinable(open_runs)):
        _join(turn, waiting)
    elif policy is BusyPolicy.INTERRUPT:
        turn.effects.to_stop |= stop_all(turn.connection, open_runs, CancelAction.INTERRUPT, now=turn.now)
        turn.effects.threads_changed.add(turn.thread_id)
        begin(turn, spec)
    elif sum(run.status is RunStatus.PENDING for run in open_runs) >= most_waiting:
        return False
    else:
        begin(turn, spec)
    return True


def hold(turn: Turn, until: datetime, *, most_waiting: int) -> bool:
    """Do nothing before the person has said so; what came before it meanwhile is asked about together. False if too many wait."""
    open_runs = runs.open_on(turn.connection, turn.thread_id)
    held = [run for run in open_runs if run.held_until is not None]
    if waiting := _joinable(held):
        _join(turn, waiting)
        turn.effects.threads_changed.add(turn.thread_id)
        return True
    if len(open_runs) >= most_waiting:
        return False
    begin(turn, held_until=until)
    return True


def send_now(connection: Connection, thread_id: str, run_id: str, *, now: datetime, effects: Effects) -> PressVerdict:
    """Let this turn be the next, and stop what runs; a turn that was held only waited for a yes, so nothing is stopped for it."""
    threads.lock(connection, thread_id)
    open_runs = runs.open_on(connection, thread_id)
    meant = next((run for run in open_runs if run.run_id == run_id), None)
    if meant is None or meant.status is RunStatus.RUNNING:
        return PressVerdict(accepted=False, text=ENDED if meant is None else _BEGUN)
    running = [run for run in open_runs if run.status is RunStatus.RUNNING and meant.held_until is None]
    effects.to_stop |= stop_all(connection, running, CancelAction.INTERRUPT, now=now)
    effects.threads_changed.add(thread_id)
    runs.send_now(connection, meant)
    return PressVerdict(accepted=True, text="This is answered next.")


def begin(turn: Turn, spec: RunSpec | None = None, *, held_until: datetime | None = None) -> RunRecord:
    """A turn of its own: a run that waits for its place, the answer owed, what was said."""
    event, key = turn.first.event, turn.conversation.key
    chosen = ConversationSettings.of(turn.conversation.settings)
    request = NewRun(
        thread_id=turn.thread_id,
        assistant_id=turn.assistant_id,
        spec=replace(spec or RunSpec(trigger_event=turn.first.id), context=chosen.run_context),
        user_id=f"{key.channel}:{event.sender.id}",
        metadata={"channel": key.channel, "conversation": str(key)},
        multitask=MultitaskStrategy.ENQUEUE,
        held_until=held_until,
    )
    run = runs.insert(turn.connection, str(uuid.uuid4()), request, now=turn.now)
    _settle(turn, run.run_id)
    _write_down(turn, run.run_id)
    owed = NewDelivery(
        id=run.run_id,
        conversation=key,
        chat_kind=turn.conversation.chat_kind,
        reply_to=event.message_id if isinstance(event, MessageReceived) else None,
        run_id=run.run_id,
    )
    deliveries.insert(turn.connection, owed, now=turn.now)
    conversations.touch(turn.connection, key, now=turn.now)
    turn.effects.runs_stored = turn.effects.deliveries_stored = True
    return run


def _settle(turn: Turn, run_id: str) -> None:
    rest = [stored.id for stored in turn.events[1:]]
    inbox.settle(turn.connection, [turn.first.id], EventState.DECIDED, now=turn.now, run_id=run_id)
    if rest:
        inbox.settle(turn.connection, rest, EventState.MERGED, now=turn.now, run_id=run_id, merged_into=turn.first.id)


def _write_down(turn: Turn, run_id: str) -> None:
    for stored in turn.events:
        if isinstance(stored.event, MessageReceived):
            transcript.append_person(turn.connection, turn.thread_id, run_id, as_said(stored.event), now=turn.now)


def _steer(turn: Turn, running: RunRecord) -> None:
    """The running turn is told; the transcript has it when the run says that it was."""
    ids = [stored.id for stored in turn.events]
    inbox.settle(turn.connection, ids, EventState.STEERING, now=turn.now, run_id=running.run_id)


def _has_files(turn: Turn) -> bool:
    """Files are fetched when a turn begins: a run that is under way cannot be told of them."""
    return any(isinstance(stored.event, MessageReceived) and stored.event.files for stored in turn.events)


def _joinable(open_runs: Sequence[RunRecord]) -> RunRecord | None:
    """The last turn that waits, if it is to be told messages: one that carries a press or resumes has its input already."""
    waiting = [run for run in open_runs if run.status is RunStatus.PENDING and run.spec.trigger_event is not None]
    return waiting[-1] if waiting and waiting[-1].spec.input is None and waiting[-1].spec.command is None else None


def _join(turn: Turn, waiting: RunRecord) -> None:
    ids = [stored.id for stored in turn.events]
    inbox.settle(
        turn.connection,
        ids,
        EventState.MERGED,
        now=turn.now,
        run_id=waiting.run_id,
        merged_into=waiting.spec.trigger_event,
    )
    _write_down(turn, waiting.run_id)
