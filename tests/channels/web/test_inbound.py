from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from channels.contract import (
    Addressed,
    ChatKind,
    ChoiceSelected,
    Clarification,
    FileRef,
    FormField,
    Option,
    event_from_json,
    event_to_json,
)
from channels.web.ids import make_key
from channels.web.inbound import (
    PostedMessage,
    PostedPress,
    PostedStop,
    choice_selected,
    message_received,
    misfit,
    stop_requested,
)

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
KEY = make_key("a" * 32, "b" * 32)
CLIENT = "c" * 32


def test_a_message_keeps_its_text_and_is_known_by_the_pages_own_id() -> None:
    file = FileRef("/mnt/user-data/uploads/a.csv", "a.csv", None, 3)
    event = message_received(PostedMessage(client_id=CLIENT, text=" look\n"), KEY, (file,), NOW)
    assert (event.text, event.message_id, event.dedupe_key) == (" look\n", CLIENT, f"message:{CLIENT}")
    assert (event.sender.id, event.chat_kind, event.addressed) == ("a" * 32, ChatKind.PRIVATE, Addressed.DM)
    assert event_from_json(event_to_json(event)) == event


@pytest.mark.parametrize("text", ["/stop", "/new please"])
def test_a_text_that_begins_like_a_command_is_one(text: str) -> None:
    assert message_received(PostedMessage(client_id=CLIENT, text=text), KEY, (), NOW).addressed is Addressed.COMMAND


@pytest.mark.parametrize("text", ["/mnt/user-data/a.csv is which?", "what is /stop", "/ 2", "/etc/"])
def test_a_path_is_no_command(text: str) -> None:
    assert message_received(PostedMessage(client_id=CLIENT, text=text), KEY, (), NOW).addressed is Addressed.DM


def test_one_press_repeated_has_one_dedupe_key_and_another_press_another() -> None:
    first = choice_selected(PostedPress(client_id=CLIENT, token="t1", option=0), KEY, NOW)
    again = choice_selected(PostedPress(client_id=CLIENT, token="t1", option=0), KEY, NOW)
    other = choice_selected(PostedPress(client_id="d" * 32, token="t1", option=0), KEY, NOW)
    assert first.dedupe_key == again.dedupe_key != other.dedupe_key


def test_stop_names_the_run_its_button_was_drawn_for() -> None:
    assert stop_requested(PostedStop(client_id=CLIENT, run_id="r1"), KEY, NOW).run_id == "r1"


@pytest.mark.parametrize(
    "body",
    [
        {"client_id": CLIENT, "text": "  \n"},
        {"client_id": "short", "text": "x"},
        {"text": "x"},
        {"client_id": CLIENT, "text": "x" * 100_001},
        {"client_id": CLIENT, "text": "x", "files": ["t"] * 21},
        {"client_id": CLIENT, "text": "x", "sender": "somebody"},
    ],
)
def test_a_malformed_message_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PostedMessage.model_validate(body)


def pressed(answer: dict[str, object]) -> ChoiceSelected:
    posted = PostedPress.model_validate({"client_id": CLIENT, "token": "t", **answer})
    return choice_selected(posted, KEY, NOW)


CHOICE = Clarification("t1", "Which?", options=(Option("A", "a"), Option("B", "b")))
MANY = replace(CHOICE, multiple=True)
FORM = Clarification("t2", "Tell me", fields=(FormField("place", "Place"), FormField("when", "When", required=False)))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (CHOICE, {"option": 1}),
        (MANY, {"option": 1, "action": "unchoose"}),
        (MANY, {"action": "submit", "values": {"answer": ["a", "b"]}}),
        (FORM, {"action": "submit", "values": {"place": "Rome"}}),
        (FORM, {"action": "submit", "values": {"place": "Rome", "when": ""}}),
    ],
)
def test_an_answer_that_fits_is_taken(question: Clarification, answer: dict[str, object]) -> None:
    assert misfit(pressed(answer), question) is None


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        (CHOICE, {"option": 2}, "not one of the choices"),
        (CHOICE, {}, "not one of the choices"),
        (CHOICE, {"action": "submit", "values": {"answer": "a"}}, "not an answer to this form"),
        (MANY, {"action": "submit", "values": {"answer": ["a", "x"]}}, "not one of the choices"),
        (MANY, {"action": "submit", "values": {"answer": []}}, "choose at least one"),
        (MANY, {"action": "done"}, "choose at least one"),
        (FORM, {"option": 0}, "not one of the choices"),
        (FORM, {"action": "submit", "values": {"place": "Rome", "who": "me"}}, "not an answer to this form"),
        (FORM, {"action": "submit", "values": {"place": ["Rome", "Oslo"]}}, "not one of the choices"),
        (FORM, {"action": "submit", "values": {"place": "  "}}, "Please fill in: Place."),
    ],
)
def test_an_answer_that_does_not_fit_says_why(question: Clarification, answer: dict[str, object], said: str) -> None:
    problem = misfit(pressed(answer), question)
    assert problem is not None
    assert said in problem
