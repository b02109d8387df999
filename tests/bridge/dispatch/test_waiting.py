"""Turns that wait: passed by, let go first, or not begun before the person says so."""

from datetime import timedelta

import pytest

from bridge.persistence import runs
from bridge.runs.records import CancelAction, RunRecord, RunStatus
from channels.contract import BusyPolicy, MessageReceived, PressVerdict
from tests.bridge.dispatch.conftest import Desk
from tests.bridge.people import BOB, message, send_now, stop

ASK_WHEN_OLDER = 600


async def turns(desk: Desk, *texts: str) -> list[RunRecord]:
    """The first of these runs, the others wait."""
    await desk.decide(*(message(text) for text in texts))
    await desk.begin()
    return list(await desk.runs())


async def order(desk: Desk) -> list[str]:
    """The texts of the turns that have begun and will begin, in their order."""
    said = {entry.run_id: entry.text for entry in await desk.said()}
    return [said[run.run_id] for run in await desk.runs() if not run.status.is_final]


async def test_send_now_passes_those_that_wait_and_stops_what_runs(desk: Desk) -> None:
    running, _, _, last = await turns(desk, "one", "two", "three", "four")

    effects = await desk.decide(send_now(last.run_id))

    assert effects.to_stop == {running.run_id: CancelAction.INTERRUPT}
    assert effects.threads_changed == {await desk.thread()}
    assert effects.press is not None
    assert effects.press[1] == PressVerdict(accepted=True, text="This is answered next.")
    assert await order(desk) == ["one", "four", "two", "three"]
    await desk.finish(running)
    assert (await desk.begin()).run_id == last.run_id


@pytest.mark.parametrize("number", [1, 2])
async def test_send_now_keeps_the_order_of_the_others(desk: Desk, number: int) -> None:
    waiting = (await turns(desk, "one", "two", "three", "four"))[number]
    await desk.decide(send_now(waiting.run_id))
    await desk.decide(message("five"))
    expected = {1: ["one", "two", "three", "four", "five"], 2: ["one", "three", "two", "four", "five"]}[number]
    assert await order(desk) == expected


async def test_what_has_begun_or_ended_cannot_be_sent_now(desk: Desk) -> None:
    running, waiting = await turns(desk, "one", "two")
    await desk.decide(stop(waiting.run_id))
    for run_id, said in ((running.run_id, "answered already"), (waiting.run_id, "ended"), ("no-such-run", "ended")):
        effects = await desk.decide(send_now(run_id))
        assert not effects.to_stop
        assert effects.press is not None
        assert not effects.press[1].accepted
        assert said in effects.press[1].text


async def test_a_turn_of_another_conversation_cannot_be_sent_now(desk: Desk) -> None:
    running, waiting = await turns(desk, "one", "two")
    elsewhere = send_now(waiting.run_id, conversation=type(message("x").conversation)("demo", "bot", "another"))
    await desk.store(elsewhere)
    await desk.next(elsewhere.conversation)
    assert [run.run_id for run in await desk.runs()] == [running.run_id, waiting.run_id]
    assert (await desk.runs())[0].cancel_action is None


def old(desk: Desk, text: str, hours: float = 3, **options: object) -> MessageReceived:
    """Something said while the bot was away."""
    return message(text, occurred_at=desk.clock() - timedelta(hours=hours), **options)


async def decide(desk: Desk, *events: MessageReceived, busy: BusyPolicy = BusyPolicy.QUEUE) -> None:
    await desk.store(*events)
    while await desk.next(busy=busy, ask_when_older=ASK_WHEN_OLDER) is not None:
        pass


async def claim(desk: Desk) -> RunRecord | None:
    return await desk.database.write(
        lambda c: runs.claim_next(c, owner="me", now=desk.clock(), lease_expires_at=desk.clock() + timedelta(hours=1))
    )


async def test_what_was_said_during_an_outage_waits_for_a_word_and_is_then_answered(desk: Desk) -> None:
    await decide(desk, old(desk, "delete the branch"), old(desk, "no, the other one", 2))
    (held,) = await desk.runs()
    assert held.held_until == desk.clock() + timedelta(days=1)
    assert await claim(desk) is None
    assert await desk.take_deliveries() == [held.run_id]
    assert [entry.text for entry in await desk.said()] == ["delete the branch", "no, the other one"]

    await desk.decide(send_now(held.run_id))

    assert (await desk.begin()).run_id == held.run_id


async def test_a_new_message_is_answered_before_the_old_one_is_decided_about(desk: Desk) -> None:
    await decide(desk, old(desk, "long ago"), message("just now", occurred_at=desk.clock()))
    held, fresh = await desk.runs()
    assert await desk.database.read(lambda c: runs.count_ahead(c, fresh.run_id)) == 0
    assert (await desk.begin()).run_id == fresh.run_id
    assert held.status is RunStatus.PENDING


async def test_a_yes_to_an_old_message_stops_nothing(desk: Desk) -> None:
    await decide(desk, old(desk, "long ago"), message("just now", occurred_at=desk.clock()))
    held, _ = await desk.runs()
    await desk.begin()
    effects = await desk.decide(send_now(held.run_id))
    assert not effects.to_stop
    assert [run.cancel_action for run in await desk.runs()] == [None, None]


async def test_an_old_answer_to_a_question_is_an_answer(desk: Desk) -> None:
    """Symptom: the question was settled with it, and then the person was asked whether it was still to be answered."""
    await desk.decide(message("begin"))
    await desk.ask("red", "blue")
    await decide(desk, old(desk, "something green, rather"))
    assert (await desk.runs())[-1].held_until is None


@pytest.mark.parametrize("busy", [BusyPolicy.INTERRUPT, BusyPolicy.COLLECT])
async def test_no_busy_policy_touches_what_waits_for_a_word(desk: Desk, busy: BusyPolicy) -> None:
    await decide(desk, old(desk, "long ago"))
    await decide(desk, message("just now", occurred_at=desk.clock()), busy=busy)
    held, fresh = await desk.runs()
    assert (held.status, held.held_until is not None, fresh.held_until) == (RunStatus.PENDING, True, None)


async def test_an_old_message_can_be_dropped(desk: Desk) -> None:
    await decide(desk, old(desk, "long ago"))
    (held,) = await desk.runs()
    await desk.decide(stop(held.run_id, BOB))
    assert [run.status for run in await desk.runs()] == [RunStatus.INTERRUPTED]


async def test_an_old_message_nobody_says_a_word_about_is_dropped_in_the_end(desk: Desk) -> None:
    await decide(desk, old(desk, "long ago"), message("just now", occurred_at=desk.clock()))
    desk.clock.advance(timedelta(days=1).total_seconds())
    dropped = await desk.database.write(lambda c: runs.drop_held(c, now=desk.clock()))
    assert dropped == [await desk.thread()]
    assert [run.status for run in await desk.runs()] == [RunStatus.INTERRUPTED, RunStatus.PENDING]
    assert await desk.database.write(lambda c: runs.drop_held(c, now=desk.clock())) == []


async def test_an_old_command_is_answered_at_once(desk: Desk) -> None:
    await decide(desk, old(desk, "/help"))
    assert "/stop" in (await desk.answers())[0]
