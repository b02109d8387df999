"""(a question as far as it is answered, a press or words) → how it stands then. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from channels.contract import PLAIN_ANSWER, ChoiceSelected, Clarification, FormField, PressAction

NOT_A_CHOICE = "That is not one of the choices."
NOT_THIS_FORM = "That is not an answer to this form."
CHOOSE_FIRST = "Please choose at least one first."
TOO_LATE = "This part was answered already."
NOTHING = "nothing"
SKIP_WORDS = frozenset({"skip", "-"})
_BETWEEN_CHOICES = re.compile(r"[,;\n]")

Filled = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Unfit:
    """It changes nothing; `text` says why."""

    text: str


@dataclass(frozen=True, slots=True)
class Ongoing:
    """The question goes on, in this form; `text` says what happened."""

    question: Clarification
    text: str


@dataclass(frozen=True, slots=True)
class Complete:
    """The whole answer, by field name. `in_own_words` when a plain question was answered with none of its options."""

    filled: Filled
    in_own_words: bool = False


Filling = Unfit | Ongoing | Complete


def press(question: Clarification, pressed: ChoiceSelected) -> Filling:
    """What this press makes of an open question. Pressing twice what was drawn once changes nothing."""
    if pressed.action is PressAction.SUBMIT:
        return _submitted(question, pressed.values)
    if pressed.step != question.step:
        return Unfit(TOO_LATE)
    match pressed.action:
        case PressAction.BACK:
            return _back(question)
        case PressAction.SKIP:
            return _next(question, ()) if _may_be_empty(question) else Unfit(CHOOSE_FIRST)
        case PressAction.DONE:
            return _done(question)
        case _:
            return _option(question, pressed.option, chosen=pressed.action is PressAction.CHOOSE)


def words(question: Clarification, text: str) -> Filling:
    """What a written answer makes of it: numbers or labels stand for choices, anything else for itself."""
    said, field = text.strip(), question.current
    if _may_be_empty(question) and said.lower() in SKIP_WORDS:
        return _next(question, ())
    chosen = _named(field, said)
    if chosen is None and not question.fields:
        return Complete({PLAIN_ANSWER: (said,)}, in_own_words=True)
    return _next(question, chosen or (said,))


def shown(question: Clarification, filled: Filled) -> str:
    """The answer as people read it: labels, and for a form a line for each field that was filled in."""
    if not question.fields:
        return field_shown(question.current, filled.get(PLAIN_ANSWER, ())) or NOTHING
    lines = [f"{field.label}: {field_shown(field, values)}" for field, values in _pairs(question, filled) if values]
    return "\n".join(lines) or NOTHING


def field_shown(field: FormField, values: Sequence[str]) -> str:
    """What stands in one field, as people read it."""
    return ", ".join(field.label_of(value) for value in values)


def _pairs(question: Clarification, filled: Filled) -> Sequence[tuple[FormField, tuple[str, ...]]]:
    return [(field, filled.get(field.name, ())) for field in question.asked]


def _may_be_empty(question: Clarification) -> bool:
    """A plain question is put to be answered; that nothing applies is said with `done`."""
    return bool(question.fields) and not question.current.required


def _option(question: Clarification, position: int | None, *, chosen: bool) -> Filling:
    field = question.current
    if position is None or not 0 <= position < len(field.options):
        return Unfit(NOT_A_CHOICE)
    value = field.options[position].value
    if not field.multiple:
        return _next(question, (value,)) if chosen else Unfit(NOT_A_CHOICE)
    before = question.filled.get(field.name, ())
    wanted = {*before, value} if chosen else {*before} - {value}
    values = tuple(option.value for option in field.options if option.value in wanted)
    changed = replace(question, filled={**question.filled, field.name: values})
    return Ongoing(changed, f"Chosen: {field_shown(field, values) or NOTHING}")


def _done(question: Clarification) -> Filling:
    field = question.current
    values = question.filled.get(field.name, ())
    if not field.multiple:
        return Unfit(NOT_A_CHOICE)
    return _next(question, values) if values or not field.required else Unfit(CHOOSE_FIRST)


def _back(question: Clarification) -> Filling:
    if not question.step:
        return Unfit(TOO_LATE)
    before = replace(question, step=question.step - 1)
    return Ongoing(before, f"Back to: {before.current.label}")


def _next(question: Clarification, values: tuple[str, ...]) -> Filling:
    field = question.current
    filled = {**question.filled, field.name: values}
    if question.step + 1 >= len(question.asked):
        return Complete(filled)
    going_on = replace(question, filled=filled, step=question.step + 1)
    return Ongoing(going_on, f"{field.label}: {field_shown(field, values) or NOTHING}")


def _submitted(question: Clarification, given: Mapping[str, str | tuple[str, ...]]) -> Filling:
    """All fields at once; a choice of several is a form of one."""
    is_form = bool(question.fields) or question.multiple
    if not is_form or given.keys() - {field.name for field in question.asked}:
        return Unfit(NOT_THIS_FORM)
    filled = {field.name: _values(given.get(field.name, ())) for field in question.asked}
    if missing := [field.label for field in question.asked if field.required and not filled[field.name]]:
        return Unfit(f"Please fill in: {', '.join(missing)}." if question.fields else CHOOSE_FIRST)
    if not all(_takes(field, filled[field.name], question.filled.get(field.name, ())) for field in question.asked):
        return Unfit(NOT_A_CHOICE)
    return Complete(filled)


def _takes(field: FormField, values: Sequence[str], written: Sequence[str]) -> bool:
    """Whether these can stand in the field; words that were written in place of a choice can as well."""
    known = {*(option.value for option in field.options), *written}
    return (field.multiple or len(values) <= 1) and (not field.options or known.issuperset(values))


def _values(given: str | tuple[str, ...]) -> tuple[str, ...]:
    several = (given,) if isinstance(given, str) else given
    return tuple(value.strip() for value in several if value.strip())


def _named(field: FormField, text: str) -> tuple[str, ...] | None:
    """The values of the options that a text names, in their order; None if it names anything else."""
    if not field.options:
        return None
    whole = _value_named(field, text)
    if whole is not None or not field.multiple:
        return None if whole is None else (whole,)
    named = {_value_named(field, part) for part in _BETWEEN_CHOICES.split(text) if part.strip()}
    if None in named or not named:
        return None
    return tuple(option.value for option in field.options if option.value in named)


def _value_named(field: FormField, word: str) -> str | None:
    """The value of the option with this label, or else with this number."""
    said = word.strip().rstrip(".").casefold()
    labels = {option.label.strip().rstrip(".").casefold(): option.value for option in reversed(field.options)}
    if said in labels:
        return labels[said]
    number = int(said) if said.isascii() and said.isdigit() and len(said) < 4 else 0
    return field.options[number - 1].value if 1 <= number <= len(field.options) else None
