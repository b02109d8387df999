"""A question on Telegram: in full in the text, short on the buttons, a form field by field within one message."""

from dataclasses import replace

from channels.contract import Clarification, ClarificationState, FormField, Option, PressAction
from channels.telegram.ids import ChoicePress, parse_callback_data
from channels.telegram.questions import question_rows, question_text

EXTRAS = (Option("Tea", "tea"), Option("Milk", "milk"))
FORM = Clarification(
    "tok",
    "Your order",
    fields=(
        FormField("name", "Name"),
        FormField("size", "Size", (Option("Small", "s"), Option("Large", "l")), required=False),
        FormField("extras", "Extras", EXTRAS, multiple=True),
    ),
)


def labels(asked: Clarification) -> list[list[str]]:
    return [[button.label for button in row] for row in question_rows(asked)]


def presses(asked: Clarification) -> list[object]:
    return [parse_callback_data(button.data) for row in question_rows(asked) for button in row]


def test_of_several_each_shows_whether_it_is_chosen_and_its_button_says_what_a_press_makes_of_it() -> None:
    asked = Clarification("tok", "Which?", options=EXTRAS, multiple=True, filled={"answer": ("milk",)})
    assert labels(asked) == [["☐ Tea"], ["☑ Milk"], ["✔ Done"]]
    assert presses(asked) == [
        ChoicePress("tok", 0),
        ChoicePress("tok", 1, PressAction.UNCHOOSE),
        ChoicePress("tok", None, PressAction.DONE),
    ]
    assert question_text(asked).text.endswith("Choose one or several, then press Done.")
    assert question_text(replace(asked, required=False)).text.endswith("Choose any or none, then press Done.")


def test_a_form_asks_one_field_after_the_other_and_shows_those_before() -> None:
    assert question_text(FORM).text == "❓ Your order\n\n1 / 3  Name\n\nWrite your answer in a message."
    assert labels(FORM) == []
    second = replace(FORM, step=1, filled={"name": ("Ann",)})
    text = question_text(second)
    assert text.text == "❓ Your order\n\n✓ Name: Ann\n\n2 / 3  Size (optional)"
    (bold,) = text.marks
    assert text.text[bold.offset : bold.end] == "Size"
    assert labels(second) == [["Small"], ["Large"], ["‹ Back", "Skip ›"]]
    third = replace(FORM, step=2, filled={"name": ("Ann",), "size": (), "extras": ("tea",)})
    assert "✓ Name: Ann\n✓ Size: –\n\n3 / 3  Extras" in question_text(third).text
    assert labels(third) == [["☑ Tea"], ["☐ Milk"], ["‹ Back", "✔ Done"]]
    assert {press.step for press in presses(third) if isinstance(press, ChoicePress)} == {2}


def test_an_answered_form_shows_all_that_was_answered_and_by_whom() -> None:
    settled = replace(FORM, state=ClarificationState.ANSWERED, answer="Name: Ann\nExtras: Tea", answered_by="Ann B")
    assert question_text(settled).text == "❓ Your order\n\n✅ Ann B:\nName: Ann\nExtras: Tea"
    assert labels(settled) == []
