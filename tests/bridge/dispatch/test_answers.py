"""Answers to the agent's questions: once, by the right person, in the right place."""

from typing import Any

import pytest

from bridge.dispatch.answers import ELSEWHERE, EXPIRED, GONE, NOT_YOURS, WITHDRAWN
from bridge.dispatch.decision import Effects
from bridge.persistence import transcript
from bridge.persistence.clarifications import AskedBy
from bridge.runs.records import RunRecord, RunStatus
from channels.contract import (
    BusyPolicy,
    ChatKind,
    Clarification,
    ClarificationState,
    FileRef,
    FormField,
    Option,
    PressAction,
)
from tests.bridge.dispatch.conftest import Desk
from tests.bridge.people import BOB, CHAT, message, press

GROUP = {"chat_kind": ChatKind.GROUP}


def verdict(effects: Effects) -> tuple[bool, str]:
    assert effects.press is not None
    return effects.press[1].accepted, effects.press[1].text


async def asked(desk: Desk, *options: str, **details: Any) -> RunRecord:
    """A turn has ended with a question."""
    await desk.decide(message("hi"))
    return await desk.ask(*(options or ("red", "blue")), **details)


async def test_a_press_answers_the_question_and_begins_the_next_turn(desk: Desk) -> None:
    await asked(desk)
    assert await desk.take_deliveries()
    effects = await desk.decide(press("tok", 1))

    assert verdict(effects) == (True, "blue")
    question = await desk.question()
    assert (question.state, question.answer, question.answered_by) == (ClarificationState.ANSWERED, "blue", "Ann")
    first, second = await desk.runs()
    assert second.status is RunStatus.PENDING
    (told,) = second.spec.input["messages"]
    assert told["content"] == "value of blue"
    assert told["additional_kwargs"]["hide_from_ui"] is True
    assert told["additional_kwargs"]["human_input_response"] == {
        "version": 1,
        "kind": "human_input_response",
        "source": "ask_clarification",
        "request_id": "clarification:call-tok",
        "response_kind": "option",
        "option_id": "option-2",
        "value": "value of blue",
    }
    assert [entry.text for entry in await desk.said() if entry.reply is None] == ["hi", "blue"]
    assert set(await desk.take_deliveries()) == {first.run_id, second.run_id}
    reply = await desk.database.read(lambda c: transcript.reply_of(c, first.run_id))
    assert reply is not None
    assert [part.state for part in reply.parts if isinstance(part, Clarification)] == [ClarificationState.ANSWERED]


async def test_a_second_press_changes_nothing(desk: Desk) -> None:
    await asked(desk)
    await desk.decide(press("tok", 1))
    effects = await desk.decide(press("tok", 0))
    assert verdict(effects) == (False, "This was answered already: blue")
    assert len(await desk.runs()) == 2


async def test_an_option_that_is_not_there_leaves_the_question_open(desk: Desk) -> None:
    await asked(desk)
    for option in (2, -1, None):
        accepted, _ = verdict(await desk.decide(press("tok", option)))
        assert not accepted
    assert (await desk.question()).state is ClarificationState.OPEN
    assert len(await desk.runs()) == 1


async def test_in_a_group_only_the_person_asked_may_press(desk: Desk) -> None:
    await desk.decide(message("hi", **GROUP))
    await desk.ask("red", "blue")
    assert verdict(await desk.decide(press("tok", 0, BOB, **GROUP))) == (False, NOT_YOURS)
    assert (await desk.question()).state is ClarificationState.OPEN
    assert verdict(await desk.decide(press("tok", 0, **GROUP))) == (True, "red")


async def test_an_admin_may_press_for_whoever_was_asked(desk: Desk) -> None:
    await desk.decide(message("hi", **GROUP))
    await desk.ask("red", "blue")
    await desk.store(press("tok", 0, BOB, **GROUP))
    effects = await desk.next(admins=["bob"])
    assert isinstance(effects, Effects)
    assert verdict(effects) == (True, "red")
    assert (await desk.question()).answered_by == "Bob"


async def test_each_of_two_people_answers_the_question_put_to_them(desk: Desk) -> None:
    """Symptom: what the first said was a new message, once the second had been asked something."""
    await desk.decide(message("hi", **GROUP))
    await desk.ask("red", "blue")
    desk.clock.advance(1)
    await desk.decide(message("hello", BOB, **GROUP))
    await desk.ask("tea", "milk", of="bob", token="tok2")
    await desk.decide(message("blue", **GROUP))
    assert ((await desk.question()).answer, (await desk.question("tok2")).state) == ("blue", ClarificationState.OPEN)


async def test_in_a_group_only_the_person_asked_answers_in_words(desk: Desk) -> None:
    """Symptom: whatever anybody said next in the group was taken for the answer."""
    await desk.decide(message("hi", **GROUP))
    await desk.ask("red", "blue")
    await desk.decide(message("what is for lunch?", BOB, **GROUP))
    assert (await desk.question()).state is ClarificationState.OPEN
    await desk.decide(message("red please", **GROUP))
    question = await desk.question()
    assert (question.state, question.answer, question.answered_by) == (
        ClarificationState.ANSWERED,
        "red please",
        "Ann",
    )


async def test_a_typed_answer_settles_the_question_and_is_a_turn(desk: Desk) -> None:
    await asked(desk)
    await desk.decide(message("green, if you have it"))
    assert (await desk.question()).answer == "green, if you have it"
    _, second = await desk.runs()
    assert second.spec.input is None
    assert second.spec.trigger_event is not None
    assert second.spec.answers == "clarification:call-tok"
    assert verdict(await desk.decide(press("tok", 0)))[0] is False


async def test_an_expired_question_takes_no_press_and_shows_it(desk: Desk) -> None:
    await asked(desk)
    await desk.take_deliveries()
    desk.clock.advance(24 * 3600)
    effects = await desk.decide(press("tok", 0))
    assert verdict(effects) == (False, EXPIRED)
    assert effects.deliveries_stored
    assert (await desk.question()).state is ClarificationState.EXPIRED
    assert len(await desk.runs()) == 1


async def test_an_expired_question_is_not_answered_by_what_is_said_next(desk: Desk) -> None:
    await asked(desk, by=AskedBy.INTERRUPT)
    desk.clock.advance(24 * 3600)
    await desk.decide(message("something else"))
    assert (await desk.question()).state is ClarificationState.EXPIRED
    assert (await desk.runs())[-1].spec.command is None


async def test_a_press_in_another_conversation_or_with_an_unknown_token_finds_nothing(desk: Desk) -> None:
    await asked(desk)
    assert verdict(await desk.decide(press("no-such", 0))) == (False, GONE)
    foreign = press("tok", 0, conversation=type(CHAT)("demo", "bot", "another"))
    await desk.store(foreign)
    assert verdict(await desk.next(foreign.conversation)) == (False, ELSEWHERE)
    assert (await desk.question()).state is ClarificationState.OPEN


@pytest.mark.parametrize("command", ["/new", "/stop"])
async def test_a_question_of_an_abandoned_thread_is_withdrawn_and_says_so(desk: Desk, command: str) -> None:
    run = await asked(desk)
    await desk.take_deliveries()
    await desk.decide(message(command))
    assert verdict(await desk.decide(press("tok", 0))) == (False, WITHDRAWN)
    (part,) = await desk.shown(run)
    assert isinstance(part, Clarification)
    assert part.state is ClarificationState.WITHDRAWN
    assert run.run_id in await desk.take_deliveries()


async def test_an_interrupt_is_resumed_by_a_press_and_by_words(desk: Desk) -> None:
    await asked(desk, by=AskedBy.INTERRUPT)
    await desk.decide(press("tok", 1))
    resumed = (await desk.runs())[-1]
    assert resumed.spec.command == {"resume": {"call-tok": "value of blue"}}
    await desk.ask("yes", by=AskedBy.INTERRUPT, token="tok2")
    await desk.decide(message("of course"))
    resumed = (await desk.runs())[-1]
    assert resumed.spec.command == {"resume": {"call-tok2": "of course"}}
    assert len(await desk.runs()) == 3


async def test_what_is_said_after_an_answer_is_not_merged_into_it(desk: Desk) -> None:
    """A run that resumes or carries a press has its input already: what joined it would never be read."""
    await asked(desk, by=AskedBy.INTERRUPT)
    await desk.decide(message("of course"), busy=BusyPolicy.COLLECT)
    await desk.decide(message("and then?"), busy=BusyPolicy.COLLECT)
    assert len(await desk.runs()) == 3


async def test_all_that_was_said_in_one_go_answers_an_interrupt(desk: Desk) -> None:
    """Symptom: of a burst of messages only the first reached the agent."""
    await asked(desk, by=AskedBy.INTERRUPT)
    await desk.decide(message("red"), message("or rather blue"), debounce=2)
    resumed = (await desk.runs())[-1]
    assert resumed.spec.command == {"resume": {"call-tok": "red\n\nor rather blue"}}


@pytest.mark.parametrize("said", ["2", "Blue", " blue. "])
async def test_a_number_or_a_label_that_is_typed_counts_as_a_press(desk: Desk, said: str) -> None:
    await asked(desk)
    await desk.decide(message(said))
    assert (await desk.question()).answer == "blue"
    (told,) = (await desk.runs())[-1].spec.input["messages"]
    assert told["content"] == "value of blue"
    assert [entry.text for entry in await desk.said() if entry.reply is None] == ["hi", said]


async def test_several_are_ticked_by_anybody_asked_and_done_says_that_these_are_all(desk: Desk) -> None:
    run = await asked(desk, "red", "green", "blue", multiple=True)
    await desk.take_deliveries()
    assert verdict(await desk.decide(press("tok", 2))) == (True, "Chosen: blue")
    assert run.run_id in await desk.take_deliveries()
    assert verdict(await desk.decide(press("tok", 0))) == (True, "Chosen: red, blue")
    assert verdict(await desk.decide(press("tok", 0))) == (True, "Chosen: red, blue")
    assert (await desk.question()).filled == {"answer": ("value of red", "value of blue")}
    (part,) = await desk.shown(run)
    assert part == await desk.question()
    await desk.decide(press("tok", 2, action=PressAction.UNCHOOSE))
    assert verdict(await desk.decide(press("tok", None, action=PressAction.DONE))) == (True, "red")
    (told,) = (await desk.runs())[-1].spec.input["messages"]
    assert told["additional_kwargs"]["human_input_response"]["values"] == ["value of red"]
    assert told["additional_kwargs"]["human_input_response"]["option_ids"] == ["option-1"]
    assert len(await desk.runs()) == 2


async def test_done_with_nothing_chosen_says_so_or_is_an_answer_as_the_question_has_it(desk: Desk) -> None:
    done = {"option": None, "action": PressAction.DONE}
    await asked(desk, multiple=True)
    assert verdict(await desk.decide(press("tok", **done))) == (False, "Please choose at least one first.")
    await desk.decide(message("red, 2"))
    assert (await desk.question()).answer == "red, blue"
    await desk.ask("red", "blue", multiple=True, required=False, token="tok2")
    assert verdict(await desk.decide(press("tok2", **done))) == (True, "nothing")
    assert (await desk.runs())[-1].spec.input["messages"][0]["content"] == "(no answer)"


FORM = (
    FormField("city", "City"),
    FormField("size", "Size", (Option("Small", "s"), Option("Large", "l"))),
    FormField("extras", "Extras", (Option("Tea", "tea"), Option("Milk", "milk")), multiple=True, required=False),
)


async def test_a_form_is_filled_in_step_by_step_by_words_and_presses(desk: Desk) -> None:
    run = await asked(desk, "none", fields=FORM)
    await desk.take_deliveries()
    await desk.decide(message("Oslo"))
    assert len(await desk.runs()) == 1
    assert run.run_id in await desk.take_deliveries()
    assert [entry.text for entry in await desk.said() if entry.reply is None] == ["hi", "Oslo"]
    assert verdict(await desk.decide(press("tok", 1, step=1))) == (True, "Size: Large")
    late = await desk.decide(press("tok", 0, step=1))
    assert verdict(late) == (False, "This part was answered already.")
    assert verdict(await desk.decide(press("tok", None, step=2, action=PressAction.BACK))) == (True, "Back to: Size")
    await desk.decide(press("tok", 0, step=1))
    await desk.decide(press("tok", 1, step=2))
    effects = await desk.decide(press("tok", None, step=2, action=PressAction.DONE))

    assert verdict(effects) == (True, "City: Oslo\nSize: Small\nExtras: Milk")
    question = await desk.question()
    assert (question.state, question.answered_by) == (ClarificationState.ANSWERED, "Ann")
    (told,) = (await desk.runs())[-1].spec.input["messages"]
    assert told["content"] == "City: Oslo\nSize: Small (s)\nExtras: Milk (milk)"
    response = told["additional_kwargs"]["human_input_response"]
    assert (response["version"], response["response_kind"]) == (2, "form")
    assert response["values"] == {"city": "Oslo", "size": "s", "extras": ["milk"]}


async def test_a_form_may_be_sent_whole_and_resumes_an_interrupt_with_its_values(desk: Desk) -> None:
    await asked(desk, "none", fields=FORM, by=AskedBy.INTERRUPT)
    whole = {"city": "Rome", "size": "l", "extras": ("tea", "milk")}
    lacking = await desk.decide(press("tok", None, action=PressAction.SUBMIT, values={"size": "l"}))
    assert verdict(lacking) == (False, "Please fill in: City.")
    await desk.decide(press("tok", None, action=PressAction.SUBMIT, values=whole))
    resumed = (await desk.runs())[-1]
    assert resumed.spec.command == {"resume": {"call-tok": {"city": "Rome", "size": "l", "extras": ["tea", "milk"]}}}


async def test_a_file_that_comes_while_a_form_waits_goes_to_the_agent_and_the_form_goes_on(desk: Desk) -> None:
    await asked(desk, "none", fields=FORM)
    await desk.decide(message("see this", files=(FileRef("ref", "a.txt"),)))
    assert len(await desk.runs()) == 2
    question = await desk.question()
    assert (question.state, question.step) == (ClarificationState.OPEN, 0)
