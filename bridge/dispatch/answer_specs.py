"""A whole answer to a question → what the run that goes on with it is to do. Pure."""

from typing import Any

from bridge.persistence.clarifications import AskedBy, ClarificationRecord
from bridge.runs.records import RunSpec
from bridge.runs.turn_input import answer_message
from channels.contract import PLAIN_ANSWER, Clarification, FormField
from channels.shared.filling import Complete, field_shown

_NO_ANSWER = "(no answer)"
_SOURCE = "ask_clarification"


def spec_of(record: ClarificationRecord, answer: Complete, event_id: int) -> RunSpec:
    """The next turn, told the answer; for a graph's own interrupt() its resumption with the answer's values."""
    question = record.clarification
    if record.asked_by is AskedBy.INTERRUPT:
        return RunSpec(command={"resume": {record.call_id: _resumed(question, answer)}}, trigger_event=event_id)
    message = answer_message(event_id, _told(question, answer), _response(record, answer))
    return RunSpec(input={"messages": [message]}, trigger_event=event_id)


def spec_in_words(record: ClarificationRecord, event_id: int) -> RunSpec:
    """A turn whose message, as it was written, is the answer."""
    return RunSpec(trigger_event=event_id, answers=request_id(record))


def request_id(record: ClarificationRecord) -> str:
    """The id under which the agent put the question."""
    return f"clarification:{record.call_id}"


def _told(question: Clarification, answer: Complete) -> str:
    """The answer in words for the model: of an option its value, of a form a line a field."""
    if not question.fields:
        return ", ".join(answer.filled[PLAIN_ANSWER]) or _NO_ANSWER
    lines = [f"{field.label}: {_field_told(field, answer)}" for field in question.fields]
    return "\n".join(lines)


def _field_told(field: FormField, answer: Complete) -> str:
    values = answer.filled.get(field.name, ())
    shown, told = field_shown(field, values), ", ".join(values)
    return f"{shown} ({told})" if shown != told else told or _NO_ANSWER


def _response(record: ClarificationRecord, answer: Complete) -> dict[str, Any]:
    question = record.clarification
    known = {
        "version": 2 if question.fields else 1,
        "kind": "human_input_response",
        "source": _SOURCE,
        "request_id": request_id(record),
    }
    if question.fields:
        return known | {"response_kind": "form", "values": _resumed(question, answer)}
    field, values = question.current, answer.filled[PLAIN_ANSWER]
    ids = [f"option-{number}" for number, option in enumerate(field.options, start=1) if option.value in values]
    if field.multiple:
        return known | {"response_kind": "options", "option_ids": ids, "values": list(values)}
    return known | {"response_kind": "option", "option_id": ids[0], "value": values[0]}


def _resumed(question: Clarification, answer: Complete) -> Any:
    """The answer as values: a text, a list for a choice of several, a mapping for a form."""
    values = {field.name: _value(field, answer) for field in question.asked}
    return values if question.fields else values[PLAIN_ANSWER]


def _value(field: FormField, answer: Complete) -> str | list[str]:
    values = answer.filled.get(field.name, ())
    return list(values) if field.multiple else next(iter(values), "")
