"""Answers to the agent's questions: by a press or in words, each question once."""

from datetime import datetime

from sqlalchemy import Connection

from bridge.delivery.composer import settle as settle_in_reply
from bridge.dispatch.decision import Effects
from bridge.dispatch.turns import Turn, begin
from bridge.persistence import clarifications, deliveries, transcript
from bridge.persistence.clarifications import AskedBy, ClarificationRecord
from bridge.persistence.transcript import Said
from bridge.runs.records import RunRecord, RunSpec
from bridge.runs.turn_input import answer_message
from channels.contract import (
    ChatKind,
    ChoiceSelected,
    Clarification,
    ClarificationState,
    PressVerdict,
)

GONE = "This question is no longer there."
NOT_YOURS = "This question was put to somebody else."
EXPIRED = "This question has expired. Just write what you want."


def objection(
    record: ClarificationRecord | None, press: ChoiceSelected, chat_kind: ChatKind, thread_id: str | None
) -> str | None:
    """Why this press does not count, or None."""
    if record is None or record.thread_id != thread_id:
        return GONE
    if not may_answer(record, chat_kind, press.sender.id):
        return NOT_YOURS
    return _settled_already(record.clarification)


def may_answer(record: ClarificationRecord, chat_kind: ChatKind, person_id: str) -> bool:
    """Whether the question was put to this person; in a group others only read it."""
    return chat_kind is not ChatKind.GROUP or record.asked_of in {clarifications.ANYBODY, person_id}


def answer_by_press(turn: Turn, record: ClarificationRecord, press: ChoiceSelected) -> PressVerdict:
    """Settle the question with what was pressed, and let the agent go on with it."""
    label, value = _chosen(record.clarification, press)
    if value is None:
        return PressVerdict(accepted=False, text="Please choose one of the answers shown.")
    if not settle(
        turn.connection, record, ClarificationState.ANSWERED, turn.now, turn.effects, label, press.sender.name
    ):
        return PressVerdict(accepted=False, text=GONE)
    run = begin(turn, _spec(turn, record, press, value))
    transcript.append_person(turn.connection, turn.thread_id, run.run_id, Said(label, press.sender.name), now=turn.now)
    return PressVerdict(accepted=True, text=label)


def answer_in_words(turn: Turn, record: ClarificationRecord, text: str, by: str) -> RunRecord | None:
    """A message while a question waits is its answer. For a graph's own interrupt() it resumes the run, which is returned."""
    settle(turn.connection, record, ClarificationState.ANSWERED, turn.now, turn.effects, text, by)
    if record.asked_by is AskedBy.INTERRUPT:
        spec = RunSpec(command={"resume": {record.call_id: text}}, trigger_event=turn.first.id)
        return begin(turn, spec)
    return None


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
    reply = transcript.reply_of(connection, record.run_id)
    if reply is not None and (shown := settle_in_reply(reply, settled)) is not reply:
        transcript.replace_reply(connection, shown)
        effects.deliveries_stored |= deliveries.reopen(connection, record.run_id, now=now)
    return True


def has_expired(record: ClarificationRecord, now: datetime) -> bool:
    """Whether the question's time is over though nobody has said so yet."""
    question = record.clarification
    return question.state is ClarificationState.OPEN and question.expires_at is not None and question.expires_at <= now


def _spec(turn: Turn, record: ClarificationRecord, press: ChoiceSelected, value: str) -> RunSpec:
    if record.asked_by is AskedBy.INTERRUPT:
        return RunSpec(command={"resume": {record.call_id: value}}, trigger_event=turn.first.id)
    request_id = f"clarification:{record.call_id}"
    message = answer_message(turn.first.id, press, value, request_id)
    return RunSpec(input={"messages": [message]}, trigger_event=turn.first.id)


def _chosen(question: Clarification, press: ChoiceSelected) -> tuple[str, str | None]:
    """(what people see, what the agent is told)."""
    if press.values:
        labels = {field.name: field.label for field in question.fields}
        answers = [f"{labels.get(name, name)}: {value}" for name, value in press.values.items()]
        return "; ".join(answers), "\n".join(answers)
    if press.option is not None and 0 <= press.option < len(question.options):
        option = question.options[press.option]
        return option.label, option.value
    return "", None


def _settled_already(question: Clarification) -> str | None:
    match question.state:
        case ClarificationState.OPEN:
            return None
        case ClarificationState.ANSWERED:
            return f"This was answered already: {question.answer}"
        case ClarificationState.EXPIRED:
            return EXPIRED
        case _:
            return GONE
