"""Messages that people change or take back after they have sent them."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from bridge.dispatch.decision import Effects
from bridge.persistence import inbox, runs, threads, transcript
from bridge.persistence.inbox import EventState, StoredEvent
from bridge.runs.manager import stop_all
from bridge.runs.records import CancelAction, RunRecord, RunStatus
from channels.contract import MessageDeleted, MessageEdited, MessageReceived


def edit(connection: Connection, event: MessageEdited, *, now: datetime, effects: Effects) -> None:
    """A turn that waits is told the new text; one that runs begins anew from before it; an answer that stands stays."""
    stored = _own_message(connection, event)
    if stored is not None and isinstance(stored.event, MessageReceived) and stored.event.text != event.text:
        _amend(connection, stored, replace(stored.event, text=event.text), now, effects)


def take_back(connection: Connection, event: MessageDeleted, *, now: datetime, effects: Effects) -> None:
    """The same for a message that is gone; a turn of which nothing is left ends, and the thread is as it was before it."""
    stored = _own_message(connection, event)
    if stored is not None and isinstance(stored.event, MessageReceived):
        _amend(connection, stored, replace(stored.event, text="", files=()), now, effects)


def _own_message(connection: Connection, event: MessageEdited | MessageDeleted) -> StoredEvent | None:
    stored = inbox.message(connection, event.conversation, event.message_id)
    return stored if stored is not None and stored.event.sender.id == event.sender.id else None


def _amend(
    connection: Connection, stored: StoredEvent, changed: MessageReceived, now: datetime, effects: Effects
) -> None:
    inbox.amend(connection, stored.id, changed)
    run = runs.find(connection, stored.run_id) if stored.run_id and stored.state is not EventState.STEERING else None
    if run is None or run.spec.trigger_event is None or run.spec.command is not None:
        return
    threads.lock(connection, run.thread_id)
    if _is_over(connection, run):
        return
    transcript.set_text(connection, run.run_id, changed.message_id, changed.text)
    if not _is_anything_left(connection, run.spec.trigger_event):
        effects.to_stop |= stop_all(connection, [run], CancelAction.ROLLBACK, now=now)
    elif runs.ask_to_stop(connection, run.run_id, CancelAction.RESTART, now=now):
        effects.to_stop[run.run_id] = CancelAction.RESTART
    effects.threads_changed.add(run.thread_id)


def _is_over(connection: Connection, run: RunRecord) -> bool:
    """Whether it has ended, or somebody has stopped it already; looked at under the thread's lock."""
    run = runs.find(connection, run.run_id) or run
    is_open = run.status in {RunStatus.PENDING, RunStatus.RUNNING}
    return not is_open or run.cancel_action in {CancelAction.INTERRUPT, CancelAction.ROLLBACK}


def _is_anything_left(connection: Connection, trigger_event: int) -> bool:
    events = [stored.event for stored in inbox.events_of_turn(connection, trigger_event)]
    return any(isinstance(event, MessageReceived) and (event.text or event.files) for event in events)
