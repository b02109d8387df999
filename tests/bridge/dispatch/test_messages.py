"""A message becomes a turn, in its place among the others."""

import pytest

from bridge.dispatch.decision import Effects
from bridge.dispatch.dispatcher import NotYet
from bridge.persistence import inbox, threads
from bridge.persistence.inbox import EventState
from bridge.runs.records import CancelAction, RunStatus
from channels.contract import BusyPolicy, FileRef, MessageEdited
from tests.bridge.dispatch.conftest import Desk
from tests.bridge.people import ANN, BOB, CHAT, message


async def test_a_message_becomes_a_waiting_run_an_answer_owed_and_an_entry(desk: Desk) -> None:
    said = message("hi", message_id="m-7")
    effects = await desk.decide(said)

    (run,) = await desk.runs()
    assert (run.status, run.user_id, run.assistant_id) == (RunStatus.PENDING, "demo:ann", "lead")
    assert effects.runs_stored
    assert effects.deliveries_stored
    assert await desk.take_deliveries() == [run.run_id]
    (entry,) = await desk.said()
    assert (entry.text, entry.sender_name, entry.message_id, entry.run_id) == ("hi", "Ann", "m-7", run.run_id)
    (stored,) = await desk.database.read(lambda c: inbox.events_of_turn(c, run.spec.trigger_event or 0))
    assert (stored.event, stored.state, stored.run_id) == (said, EventState.DECIDED, run.run_id)


async def test_nothing_is_decided_twice(desk: Desk) -> None:
    await desk.decide(message("hi"))
    assert await desk.next() is None
    assert len(await desk.runs()) == 1


async def test_a_thread_has_one_conversation_and_another_chat_another(desk: Desk) -> None:
    await desk.decide(message("hi"), message("again"))
    assert len(await desk.runs()) == 2
    elsewhere = message("hi", conversation=type(CHAT)("demo", "bot", "chat", "topic"))
    await desk.store(elsewhere)
    assert isinstance(await desk.next(elsewhere.conversation), Effects)
    assert await desk.thread(elsewhere.conversation) != await desk.thread()


async def test_a_deleted_thread_is_followed_by_a_new_one(desk: Desk) -> None:
    await desk.decide(message("hi"))
    old = await desk.thread()
    await desk.database.write(lambda c: threads.remove(c, old))

    await desk.decide(message("again"))

    assert await desk.thread() != old
    assert [entry.text for entry in await desk.said()] == ["again"]


async def test_messages_queue_in_their_order(desk: Desk) -> None:
    await desk.decide(message("one"), message("two"), message("three"))
    first = await desk.begin()
    assert [run.status for run in await desk.runs()] == [RunStatus.RUNNING, RunStatus.PENDING, RunStatus.PENDING]
    await desk.finish(first)
    second = await desk.begin()
    assert second.run_id == (await desk.runs())[1].run_id


async def test_what_waits_is_collected_into_one_turn(desk: Desk) -> None:
    await desk.decide(message("one"), busy=BusyPolicy.COLLECT)
    await desk.begin()
    await desk.decide(message("two"), message("three"), message("four"), busy=BusyPolicy.COLLECT)

    running, waiting = await desk.runs()
    events = await desk.database.read(lambda c: inbox.events_of_turn(c, waiting.spec.trigger_event or 0))
    assert [(stored.event.text, stored.state) for stored in events] == [
        ("two", EventState.DECIDED),
        ("three", EventState.MERGED),
        ("four", EventState.MERGED),
    ]
    assert [(entry.text, entry.run_id) for entry in await desk.said()] == [
        ("one", running.run_id),
        ("two", waiting.run_id),
        ("three", waiting.run_id),
        ("four", waiting.run_id),
    ]


async def test_a_message_steers_the_running_turn(desk: Desk) -> None:
    await desk.decide(message("one"))
    running = await desk.begin()
    effects = await desk.decide(message("rather like this"), busy=BusyPolicy.STEER)

    assert not effects.runs_stored
    assert len(await desk.runs()) == 1
    (waiting,) = await desk.database.read(lambda c: inbox.steering(c, running.run_id))
    assert waiting.event.text == "rather like this"
    assert [entry.text for entry in await desk.said()] == ["one"]


async def test_with_nothing_to_steer_a_message_is_a_turn(desk: Desk) -> None:
    await desk.decide(message("one"), busy=BusyPolicy.STEER)
    await desk.decide(message("two"), busy=BusyPolicy.STEER)
    assert len(await desk.runs()) == 2


async def test_a_message_with_files_is_a_turn_of_its_own_even_while_steering(desk: Desk) -> None:
    """Symptom: the files of a steering message never reached the agent."""
    await desk.decide(message("one"))
    await desk.begin()
    await desk.decide(message("see this", files=(FileRef("ref", "a.txt"),)), busy=BusyPolicy.STEER)
    assert len(await desk.runs()) == 2


async def test_a_message_interrupts_what_runs_and_what_waits(desk: Desk) -> None:
    await desk.decide(message("one"), message("two"))
    running = await desk.begin()
    effects = await desk.decide(message("three"), busy=BusyPolicy.INTERRUPT)

    assert effects.to_stop == {running.run_id: CancelAction.INTERRUPT}
    assert effects.threads_changed == {await desk.thread()}
    first, second, third = await desk.runs()
    assert (first.status, first.cancel_action) == (RunStatus.RUNNING, CancelAction.INTERRUPT)
    assert second.status is RunStatus.INTERRUPTED
    assert third.status is RunStatus.PENDING


async def test_more_than_may_wait_is_refused_with_a_word(desk: Desk) -> None:
    await desk.decide(message("one"), message("two"), max_waiting_per_conversation=1)
    assert len(await desk.runs()) == 1
    (answer,) = await desk.answers()
    assert "Too many messages wait" in answer
    assert [entry.text for entry in await desk.said()][:2] == ["one", "two"]


async def test_an_album_is_one_turn_and_waits_for_its_last_picture(desk: Desk) -> None:
    first, second = (message(text, group="album") for text in ("caption", ""))
    await desk.store(first, wait=0.5)
    desk.clock.advance(0.3)
    await desk.store(second, wait=0.5)
    other, _ = await desk.store(message("later"), message("and more"))
    waits = await desk.next()
    assert isinstance(waits, NotYet)
    assert waits.until == desk.clock.now.replace(microsecond=800_000)
    desk.clock.advance(0.5)

    effects = await desk.next()

    assert isinstance(effects, Effects)
    assert effects.again
    (run,) = await desk.runs()
    events = await desk.database.read(lambda c: inbox.events_of_turn(c, run.spec.trigger_event or 0))
    assert [stored.event for stored in events] == [first, second]
    assert await desk.state(other) is EventState.RECEIVED


@pytest.mark.parametrize(("debounce", "turns"), [(2.0, 1), (0.0, 3)])
async def test_a_burst_of_one_person_is_one_turn_if_so_configured(desk: Desk, debounce: float, turns: int) -> None:
    await desk.decide(message("a"), message("b"), message("c"), debounce=debounce)
    assert len(await desk.runs()) == turns


async def test_a_burst_ends_where_somebody_else_speaks_or_a_command_stands(desk: Desk) -> None:
    await desk.decide(message("a"), message("b", BOB), message("c", ANN), message("/help"), message("d"), debounce=2)
    assert len(await desk.runs()) == 4


async def test_an_edit_is_noted_and_changes_nothing(desk: Desk) -> None:
    said = message("hi")
    await desk.decide(said)
    edited = MessageEdited(
        conversation=CHAT,
        chat_kind=said.chat_kind,
        sender=ANN,
        dedupe_key="edit",
        occurred_at=said.occurred_at,
        message_id=said.message_id,
        text="hello",
    )
    (event_id,) = await desk.store(edited)
    await desk.next()
    assert await desk.state(event_id) is EventState.DECIDED
    assert len(await desk.runs()) == 1
