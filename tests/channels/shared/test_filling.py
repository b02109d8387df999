"""Whatever is pressed or written, a question goes on, is answered, or says why not."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from channels.contract import (
    ChatKind,
    ChoiceSelected,
    Clarification,
    ConversationKey,
    FormField,
    Option,
    PressAction,
    Sender,
)
from channels.shared.filling import CHOOSE_FIRST, TOO_LATE, Complete, Ongoing, Unfit, press, shown, words

COLOURS = (Option("Red", "r"), Option("10", "ten"), Option("Blue, dark", "b"))
ONE = Clarification("t", "Which?", options=COLOURS)
MANY = replace(ONE, multiple=True)
FREE = Clarification("t", "How?")
FORM = Clarification(
    "t",
    "Order",
    fields=(
        FormField("name", "Name", required=False),
        FormField("colour", "Colour", COLOURS),
        FormField("extras", "Extras", COLOURS, multiple=True, required=False),
    ),
)


def pressed(option: int | None = None, action: PressAction = PressAction.CHOOSE, **details: Any) -> ChoiceSelected:
    return ChoiceSelected(
        conversation=ConversationKey("demo", "bot", "chat"),
        chat_kind=ChatKind.PRIVATE,
        sender=Sender("ann"),
        dedupe_key="1",
        occurred_at=datetime(2026, 12, 1, tzinfo=UTC),
        token="t",
        option=option,
        action=action,
        **details,
    )


@pytest.mark.parametrize(
    ("question", "text", "values"),
    [
        (ONE, "red", ("r",)),
        (ONE, "1", ("r",)),
        (ONE, "3.", ("b",)),
        (ONE, "10", ("ten",)),
        (ONE, "BLUE, DARK", ("b",)),
        (MANY, "blue, dark", ("b",)),
        (MANY, "3, 1", ("r", "b")),
        (MANY, "red;10\n1", ("r", "ten")),
    ],
)
def test_a_label_or_a_number_names_an_option(question: Clarification, text: str, values: tuple[str, ...]) -> None:
    assert words(question, text) == Complete({"answer": values})


@pytest.mark.parametrize("question", [ONE, MANY, FREE])
@pytest.mark.parametrize("text", ["neither", "0", "4", "red and something else", "1, purple", "١", ""])
def test_anything_else_is_an_answer_in_own_words(question: Clarification, text: str) -> None:
    assert words(question, text) == Complete({"answer": (text,)}, in_own_words=True)


def test_a_form_takes_words_for_the_field_it_asks_now() -> None:
    first = words(FORM, "skip")
    assert isinstance(first, Ongoing)
    assert first.question.filled == {"name": ()}
    second = words(first.question, "a green one")
    assert isinstance(second, Ongoing)
    whole = words(second.question, "1,2")
    assert whole == Complete({"name": (), "colour": ("a green one",), "extras": ("r", "ten")})
    assert shown(FORM, whole.filled) == "Colour: a green one\nExtras: Red, 10"


def test_what_was_drawn_once_does_the_same_however_often_it_is_pressed() -> None:
    ticked = press(MANY, pressed(2))
    assert isinstance(ticked, Ongoing)
    again = press(ticked.question, pressed(2))
    assert isinstance(again, Ongoing)
    assert again.question == ticked.question
    unticked = press(ticked.question, pressed(2, PressAction.UNCHOOSE))
    assert isinstance(unticked, Ongoing)
    assert unticked.question.filled == {"answer": ()}


def test_back_keeps_what_was_filled_in_and_goes_no_further_than_the_first() -> None:
    assert press(FORM, pressed(None, PressAction.BACK)) == Unfit(TOO_LATE)
    second = replace(FORM, step=1, filled={"name": ("Ann",)})
    back = press(second, pressed(None, PressAction.BACK, step=1))
    assert isinstance(back, Ongoing)
    assert (back.question.step, back.question.filled) == (0, {"name": ("Ann",)})


@pytest.mark.parametrize(
    ("question", "event", "why"),
    [
        (ONE, pressed(3), "not one of the choices"),
        (ONE, pressed(-1), "not one of the choices"),
        (ONE, pressed(None), "not one of the choices"),
        (ONE, pressed(0, PressAction.UNCHOOSE), "not one of the choices"),
        (ONE, pressed(None, PressAction.DONE), "not one of the choices"),
        (ONE, pressed(0, step=1), "answered already"),
        (FORM, pressed(0, step=1), "answered already"),
        (MANY, pressed(None, PressAction.DONE), CHOOSE_FIRST),
        (MANY, pressed(None, PressAction.SKIP), CHOOSE_FIRST),
        (replace(FORM, step=1), pressed(None, PressAction.SKIP, step=1), CHOOSE_FIRST),
        (FREE, pressed(0), "not one of the choices"),
        (FREE, pressed(None, PressAction.SUBMIT, values={"answer": "x"}), "not an answer"),
    ],
)
def test_a_press_that_fits_nothing_says_why(question: Clarification, event: ChoiceSelected, why: str) -> None:
    unfit = press(question, event)
    assert isinstance(unfit, Unfit)
    assert why in unfit.text


def test_words_that_were_written_in_place_of_a_choice_may_be_submitted_with_the_rest() -> None:
    written = replace(FORM, step=2, filled={"colour": ("a green one",)})
    whole = pressed(None, PressAction.SUBMIT, values={"colour": "a green one", "extras": ("ten",)})
    assert press(written, whole) == Complete({"name": (), "colour": ("a green one",), "extras": ("ten",)})
    assert press(FORM, whole) == Unfit("That is not one of the choices.")


def test_a_choice_of_several_may_be_submitted_at_once() -> None:
    event = pressed(None, PressAction.SUBMIT, values={"answer": ("b", "r")})
    assert press(MANY, event) == Complete({"answer": ("b", "r")})
    assert press(MANY, pressed(None, PressAction.SUBMIT, values={"answer": ()})) == Unfit(CHOOSE_FIRST)
