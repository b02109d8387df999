"""Answers to the agent's questions: once, by the right person, in the right place."""

from bridge.dispatch.answers import EXPIRED, GONE, NOT_YOURS
from bridge.dispatch.decision import Effects
from bridge.persistence import transcript
from bridge.persistence.clarifications import AskedBy
from bridge.runs.records import RunStatus
from channels.contract import BusyPolicy, ChatKind, Clarification, ClarificationState
from tests.bridge.dispatch.conftest import Desk
from tests.bridge.people import BOB, CHAT, message, press

GROUP = {"chat_kind": ChatKind.GROUP}


def verdict(effects: Effects) -> tuple[bool, str]:
    assert effects.press is not None
    return effects.press[1].accepted, effects.press[1].text


async def asked(desk: Desk, *options: str, **details: object) -> None:
    """A turn has ended with a question."""
    await desk.decide(message("hi"))
    await desk.ask(*(options or ("red", "blue")), **details)


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
    assert told["additional_kwargs"]["human_input_response"]["request_id"] == "clarification:call-tok"
    assert [entry.text for entry in await desk.said() if entry.reply is None] == ["hi", "blue"]
    assert set(await desk.take_deliveries()) == {first.run_id, second.run_id}
    reply = await desk.database.read(lambda c: transcript.reply_of(c, first.run_id))
    assert reply is not None
    assert [part.state for part in reply.parts if isinstance(part, Clarification)] == [ClarificationState.ANSWERED]


async def test_a_form_is_told_by_its_labels(desk: Desk) -> None:
    await asked(desk)
    effects = await desk.decide(press("tok", None, values={"size": "XL", "colour": "red"}))
    assert verdict(effects) == (True, "size: XL; colour: red")
    (told,) = (await desk.runs())[-1].spec.input["messages"]
    assert told["content"] == "size: XL\ncolour: red"
    assert told["additional_kwargs"]["human_input_response"]["values"] == {"size": "XL", "colour": "red"}


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
    assert verdict(await desk.decide(press("tok", 0, **GROUP))) == (True, "red")


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
    assert verdict(await desk.next(foreign.conversation)) == (False, GONE)
    assert (await desk.question()).state is ClarificationState.OPEN


async def test_a_question_of_an_abandoned_thread_is_gone(desk: Desk) -> None:
    await asked(desk)
    await desk.decide(message("/new"))
    assert verdict(await desk.decide(press("tok", 0))) == (False, GONE)


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
