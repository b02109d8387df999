"""Messages changed or taken back while their turn waits, runs, or is over."""

import pytest

from bridge.runs.records import CancelAction, RunStatus
from channels.contract import BusyPolicy, FileRef, MessageReceived
from tests.bridge.dispatch.conftest import Desk
from tests.bridge.people import BOB, edit, message, taken_back


async def text_of(desk: Desk, event_id: int) -> str:
    event = (await desk.event(event_id)).event
    assert isinstance(event, MessageReceived)
    return event.text


async def decide(desk: Desk, text: str, message_id: str, **options: object) -> int:
    """Let a message arrive and be decided; its event's id."""
    (event_id,) = await desk.store(message(text, message_id=message_id, **options))
    while await desk.next() is not None:
        pass
    return event_id


async def test_a_turn_that_waits_is_told_the_new_text(desk: Desk) -> None:
    await decide(desk, "first", "m-1")
    await desk.begin()
    waiting = await decide(desk, "second", "m-2")
    effects = await desk.decide(edit("m-2", "better"))
    assert effects.to_stop == {}
    assert await text_of(desk, waiting) == "better"
    assert [entry.text for entry in await desk.said()] == ["first", "better"]
    assert len(await desk.runs()) == 2


async def test_a_turn_that_runs_is_to_begin_anew(desk: Desk) -> None:
    event_id = await decide(desk, "tpyo", "m-1")
    run = await desk.begin()
    effects = await desk.decide(edit("m-1", "typo"))
    assert effects.to_stop == {run.run_id: CancelAction.RESTART}
    (stored,) = await desk.runs()
    assert stored.cancel_action is CancelAction.RESTART
    assert await text_of(desk, event_id) == "typo"
    assert [entry.text for entry in await desk.said()] == ["typo"]


@pytest.mark.parametrize("change", [edit("m-1", "same"), edit("m-9", "another"), edit("m-1", "mine", BOB)])
async def test_no_change_no_such_message_and_somebody_elses_do_nothing(desk: Desk, change: object) -> None:
    event_id = await decide(desk, "same", "m-1")
    await desk.begin()
    assert (await desk.decide(change)).to_stop == {}  # type: ignore[arg-type]
    assert await text_of(desk, event_id) == "same"


async def test_an_answer_that_stands_stays(desk: Desk) -> None:
    await decide(desk, "old", "m-1")
    await desk.finish(await desk.begin())
    assert (await desk.decide(edit("m-1", "new"))).to_stop == {}
    assert (await desk.said())[0].text == "old"
    assert len(await desk.runs()) == 1


async def test_a_turn_somebody_has_stopped_does_not_begin_anew(desk: Desk) -> None:
    await decide(desk, "old", "m-1")
    await desk.begin()
    await desk.decide(message("/stop"))
    assert (await desk.decide(edit("m-1", "new"))).to_stop == {}
    (run,) = await desk.runs()
    assert run.cancel_action is CancelAction.INTERRUPT


async def test_a_waiting_message_that_is_taken_back_is_dropped(desk: Desk) -> None:
    await decide(desk, "first", "m-1")
    await desk.begin()
    await decide(desk, "second", "m-2")
    effects = await desk.decide(taken_back("m-2"))
    assert effects.threads_changed
    assert [run.status for run in await desk.runs()] == [RunStatus.RUNNING, RunStatus.INTERRUPTED]


async def test_the_running_one_that_is_taken_back_ends_and_leaves_no_trace_in_the_thread(desk: Desk) -> None:
    await decide(desk, "first", "m-1")
    run = await desk.begin()
    effects = await desk.decide(taken_back("m-1"))
    assert effects.to_stop == {run.run_id: CancelAction.ROLLBACK}


async def test_of_several_messages_the_rest_is_still_answered(desk: Desk) -> None:
    await desk.store(message("one", message_id="m-1"), message("two", message_id="m-2"))
    while await desk.next(debounce=2) is not None:
        pass
    run = await desk.begin()
    effects = await desk.decide(taken_back("m-1"))
    assert effects.to_stop == {run.run_id: CancelAction.RESTART}
    effects = await desk.decide(taken_back("m-2"))
    assert effects.to_stop == {run.run_id: CancelAction.ROLLBACK}


async def test_a_message_with_a_file_keeps_it_when_its_text_is_changed(desk: Desk) -> None:
    event_id = await decide(desk, "look", "m-1", files=(FileRef("ref", "a.txt"),))
    await desk.begin()
    await desk.decide(edit("m-1", "read"))
    event = (await desk.event(event_id)).event
    assert isinstance(event, MessageReceived)
    assert event.files == (FileRef("ref", "a.txt"),)


async def test_what_waits_to_be_told_to_a_running_turn_is_changed_in_place(desk: Desk) -> None:
    await desk.decide(message("first", message_id="m-1"))
    await desk.begin()
    (event_id,) = await desk.store(message("also", message_id="m-2"))
    while await desk.next(busy=BusyPolicy.STEER) is not None:
        pass
    assert (await desk.decide(edit("m-2", "rather"))).to_stop == {}
    assert await text_of(desk, event_id) == "rather"
