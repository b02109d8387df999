"""A question of the agent → its text and its buttons: a form is asked field by field, within one message."""

from collections.abc import Iterator
from dataclasses import dataclass

from channels.contract import Clarification, ClarificationState, FormField, Option, PressAction
from channels.shared.filling import field_shown
from channels.telegram.ids import ChoicePress, callback_data
from channels.telegram.markup import styled
from channels.telegram.styled_text import Mark, Styled, joined, plain

_LONGEST_LABEL = 48
_WRITE = "Write your answer in a message."
_CHOOSE_SEVERAL = "Choose one or several, then press Done."
_CHOOSE_ANY = "Choose any or none, then press Done."


@dataclass(frozen=True, slots=True)
class Button:
    """One button of an inline keyboard; `data` comes back with the press."""

    label: str
    data: str


Row = tuple[Button, ...]
Keyboard = tuple[Row, ...]


def question_text(asked: Clarification) -> Styled:
    """What is asked and, once that is settled, what came of it."""
    head = [styled(asked.context), styled(f"{asked.icon} {asked.question}".strip())]
    if asked.state is not ClarificationState.OPEN:
        return joined([*head, plain(_verdict(asked))])
    return joined([*head, *_progress(asked), _options(asked.current), plain(_hint(asked))])


def question_rows(asked: Clarification) -> Iterator[Row]:
    """The buttons for the field that is asked now; none once the question is settled."""
    if asked.state is not ClarificationState.OPEN:
        return
    field = asked.current
    chosen = asked.filled.get(field.name, ()) if field.multiple else ()
    for position, option in enumerate(field.options):
        is_chosen = option.value in chosen
        action = PressAction.UNCHOOSE if is_chosen else PressAction.CHOOSE
        mark = "" if not field.multiple else "☑ " if is_chosen else "☐ "
        label = f"{mark}{_label(position, option.label, len(field.options))}"
        yield (_button(asked, label, action, position),)
    if steps := tuple(_step_buttons(asked)):
        yield steps


def _step_buttons(asked: Clarification) -> Iterator[Button]:
    field = asked.current
    if asked.step:
        yield _button(asked, "‹ Back", PressAction.BACK)
    if asked.fields and not field.required and not field.multiple:
        yield _button(asked, "Skip ›", PressAction.SKIP)
    if field.multiple:
        yield _button(asked, "✔ Done", PressAction.DONE)


def _button(asked: Clarification, label: str, action: PressAction, option: int | None = None) -> Button:
    return Button(label, callback_data(ChoicePress(asked.token, option, action, asked.step)))


def _label(position: int, label: str, options: int) -> str:
    if len(label) <= _LONGEST_LABEL:
        return label if label.strip() else f"{position + 1} / {options}"
    return f"{position + 1}. {label[: _LONGEST_LABEL - 1]}…"


def _progress(asked: Clarification) -> Iterator[Styled]:
    """Of a form what is answered already, and which field is asked now."""
    if not asked.fields:
        return
    if asked.step:
        yield plain("\n".join(_field_line(asked, field) for field in asked.fields[: asked.step]))
    place, label = f"{asked.step + 1} / {len(asked.fields)}", asked.current.label
    optional = "" if asked.current.required else " (optional)"
    text = f"{place}  {label}{optional}"
    yield Styled(text, (Mark("bold", len(place) + 2, len(label)),))


def _field_line(asked: Clarification, field: FormField) -> str:
    return f"✓ {field.label}: {field_shown(field, asked.filled.get(field.name, ())) or '–'}"


def _options(field: FormField) -> Styled:
    """All options in full where a button can't show them so."""
    if all(len(option.label) <= _LONGEST_LABEL and not option.description for option in field.options):
        return Styled()
    return plain("\n".join(_option_line(number, option) for number, option in enumerate(field.options, 1)))


def _option_line(number: int, option: Option) -> str:
    return f"{number}. {option.label}" + (f" — {option.description}" if option.description else "")


def _hint(asked: Clarification) -> str:
    field = asked.current
    if field.multiple:
        return _CHOOSE_SEVERAL if field.required else _CHOOSE_ANY
    return _WRITE if asked.fields and not field.options else ""


def _verdict(asked: Clarification) -> str:
    match asked.state:
        case ClarificationState.ANSWERED:
            between = "\n" if asked.fields else " "
            return f"✅ {asked.answered_by}:{between}{asked.answer}" if asked.answered_by else f"✅ {asked.answer}"
        case ClarificationState.EXPIRED:
            return "⌛ This question has expired."
        case _:
            return "✖️ This question was withdrawn."
