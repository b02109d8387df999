"""Answers to the agent's questions: by a press or in words, each question once."""

from datetime import datetime

from sqlalchemy import Connection

from bridge.delivery.composer import settle as settle_in_reply
from bridge.dispatch.answer_specs import spec_in_words, spec_of
from bridge.dispatch.decision import Effects
from bridge.dispatch.turns import Turn, begin
from bridge.persistence import clarifications, deliveries, inbox, threads, transcript
from bridge.persistence.clarifications import AskedBy, ClarificationRecord
from bridge.persistence.conversations import ConversationRecord
from bridge.persistence.inbox import EventState
from bridge.persistence.transcript import Said
from bridge.runs.records import RunSpec
from bridge.runs.turn_input import as_said
from channels.contract import (
    ChatKind,
    ChoiceSelected,
    Clarification,
    ClarificationState,
    MessageReceived,
    PressVerdict,
)
from channels.shared import filling
from channels.shared.filling import Complete, Ongoing, Unfit

GONE = "This question is no longer there."
ELSEWHERE = "This question belongs to another conversation."
NOT_YOURS = "This question was put to somebody else."
EXPIRED = "This question has expired. Just write what you want."
WITHDRAWN = "This question was withdrawn. Just write what you want."


def found(connection: Connection, token: str, now: datetime, effects: Effects) -> ClarificationRecord | None:
    """The question as it stands now, its thread locked; one whose time is over has expired by this."""
    record = clarifications.find(connection, token)
    if record is None:
        return None
    threads.lock(connection, record.thread_id)
    record = clarifications.find(connection, token)
    if record is not None and expire(connection, record, now, effects):
        record = clarifications.find(connection, token)
    return record


def objection(
    record: ClarificationRecord, press: ChoiceSelected, conversation: ConversationRecord, *, is_admin: bool
) -> str | None:
    """Why this press does not count, or None."""
    question = record.clarification
    match question.state:
        case ClarificationState.ANSWERED:
            return f"This was answered already: {question.answer}"
        case ClarificationState.EXPIRED:
            return EXPIRED
        case ClarificationState.WITHDRAWN:
            return WITHDRAWN
        case _ if record.thread_id != conversation.thread_id:
            return ELSEWHERE
        case _:
            may = is_admin or _is_asked(record, conversation.chat_kind, press.sender.id)
            return None if may else NOT_YOURS


def waiting_for(turn: Turn, person_id: str) -> ClarificationRecord | None:
    """The newest question that a message of this person answers; on the way, those whose time is over expire."""
    for record in clarifications.open_on(turn.connection, turn.thread_id):
        if expire(turn.connection, record, turn.now, turn.effects):
            continue
        if _is_asked(record, turn.conversation.chat_kind, person_id):
            return record
    return None


def answer_by_press(turn: Turn, record: ClarificationRecord, press: ChoiceSelected) -> PressVerdict:
    """Fill in what was pressed; with the last of it the question is settled and the agent goes on."""
    filled = filling.press(record.clarification, press)
    match filled:
        case Unfit(text):
            return PressVerdict(accepted=False, text=text)
        case Ongoing(question, text):
            _go_on(turn, record, question)
            return PressVerdict(accepted=True, text=text)
        case Complete():
            shown = _conclude(turn, record, filled, press.sender.name)
            return PressVerdict(accepted=True, text=shown)


def answer_in_words(turn: Turn, record: ClarificationRecord) -> RunSpec | None:
    """A message while a question waits answers it, or the field of a form that is asked now.

    None when that was all there was to do with it; else what the turn that the message begins is to do.
    """
    messages = [stored.event for stored in turn.events if isinstance(stored.event, MessageReceived)]
    text, by = "\n\n".join(said.text for said in messages if said.text), messages[0].sender.name
    has_files = any(said.files for said in messages)
    if record.clarification.fields and (has_files or not text):
        return RunSpec(trigger_event=turn.first.id)  # the form goes on; files are for the agent
    filled = filling.words(record.clarification, text)
    match filled:
        case Ongoing(question):
            _go_on(turn, record, question)
            _write_down(turn)
            return None
        case Complete() if record.asked_by is AskedBy.INTERRUPT or not (filled.in_own_words or has_files):
            _conclude(turn, record, filled, by)
            return None
        case _:
            settle(turn.connection, record, ClarificationState.ANSWERED, turn.now, turn.effects, text, by)
            return spec_in_words(record, turn.first.id)


def withdraw(connection: Connection, thread_id: str, now: datetime, effects: Effects) -> int:
    """Take back what the agent has asked and nobody answered; how many questions that were."""
    records = clarifications.open_on(connection, thread_id)
    return sum(settle(connection, record, ClarificationState.WITHDRAWN, now, effects) for record in records)


def expire(connection: Connection, record: ClarificationRecord, now: datetime, effects: Effects) -> bool:
    """Settle an open question whose time is over; False if it is not, or was settled before."""
    question = record.clarification
    is_over = question.expires_at is not None and question.expires_at <= now
    if question.state is not ClarificationState.OPEN or not is_over:
        return False
    return settle(connection, record, ClarificationState.EXPIRED, now, effects)


def settle(
    connection: Connection,
    record: ClarificationRecord,
    state: ClarificationState,
    now: datetime,
    effects: Effects,
    answer: str = "",
    by: str = "",
) -> bool:
    """Settle a question and have every copy of it show so; False if it was settled before."""
    settled = clarifications.settle(connection, record.clarification.token, state, answer=answer, answered_by=by)
    if settled is None:
        return False
    _show(connection, record, settled, now, effects)
    return True


def _is_asked(record: ClarificationRecord, chat_kind: ChatKind, person_id: str) -> bool:
    """Whether the question was put to this person; in a group others only read it."""
    return chat_kind is not ChatKind.GROUP or record.asked_of in {clarifications.ANYBODY, person_id}


def _go_on(turn: Turn, record: ClarificationRecord, question: Clarification) -> None:
    if question != record.clarification and clarifications.keep_filled(turn.connection, question):
        _show(turn.connection, record, question, turn.now, turn.effects)


def _conclude(turn: Turn, record: ClarificationRecord, answer: Complete, by: str) -> str:
    """Settle with the whole answer, and begin the run that goes on with it; the answer as people read it."""
    shown = filling.shown(record.clarification, answer.filled)
    settle(turn.connection, record, ClarificationState.ANSWERED, turn.now, turn.effects, shown, by)
    run = begin(turn, spec_of(record, answer, turn.first.id))
    if isinstance(turn.first.event, ChoiceSelected):
        transcript.append_person(turn.connection, turn.thread_id, run.run_id, Said(shown, by), now=turn.now)
    return shown


def _show(
    connection: Connection, record: ClarificationRecord, question: Clarification, now: datetime, effects: Effects
) -> None:
    reply = transcript.reply_of(connection, record.run_id)
    if reply is not None and (shown := settle_in_reply(reply, question)) is not reply:
        transcript.replace_reply(connection, shown)
    effects.deliveries_stored |= deliveries.reopen(connection, record.run_id, now=now)


def _write_down(turn: Turn) -> None:
    """The words belong to no run: they stand in the conversation by themselves."""
    ids = [stored.id for stored in turn.events]
    inbox.settle(turn.connection, ids, EventState.DECIDED, now=turn.now)
    for stored in turn.events:
        name = f"event-{stored.id}"
        transcript.append_person(turn.connection, turn.thread_id, name, as_said(stored.event), now=turn.now)
