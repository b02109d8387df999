"""The rows of `inbound_events`: stored once, decided in order, never lost."""

from dataclasses import replace

from bridge.persistence import inbox
from bridge.persistence.inbox import EventState
from channels.contract import InboundEvent
from tests.bridge.conftest import StandingClock
from tests.bridge.people import BOB, CHAT, message, press, stop
from tests.bridge.persistence.conftest import Write

ELSEWHERE = replace(CHAT, chat="elsewhere")


async def store(write: Write, clock: StandingClock, *events: InboundEvent) -> list[int]:
    return [await write(lambda c, e=event: inbox.insert(c, e, now=clock(), available_at=clock())) for event in events]


async def test_every_kind_of_event_comes_back_as_it_was(write: Write, clock: StandingClock) -> None:
    events = [message("hi ✓", BOB, group="album"), press("tok", None, values={"a": "b"}), stop("run-1")]
    ids = await store(write, clock, *events)
    assert [stored.event for stored in await write(lambda c: inbox.undecided(c, CHAT))] == events
    found = await write(lambda c: inbox.find(c, ids[0]))
    assert (found.id, found.state, found.attempts, found.available_at) == (ids[0], EventState.RECEIVED, 0, clock())
    assert await write(lambda c: inbox.find(c, 999)) is None


async def test_the_same_event_is_stored_once_and_another_one_too(write: Write, clock: StandingClock) -> None:
    event = message("hi")
    first, again = await store(write, clock, event, replace(event, text="other words"))
    assert first is not None
    assert again is None
    other_account = replace(event, conversation=replace(CHAT, account="another"))
    other_channel = replace(event, conversation=replace(CHAT, channel="another"))
    assert None not in await store(write, clock, other_account, other_channel)
    assert await write(inbox.count_open) == 3


async def test_what_is_open_is_found_by_conversation_in_order_of_arrival(write: Write, clock: StandingClock) -> None:
    elsewhere = message("c", conversation=ELSEWHERE)
    ids = await store(write, clock, message("a"), message("b"), elsewhere, message("d"))
    assert sorted(await write(inbox.open_conversations)) == sorted([str(CHAT), str(ELSEWHERE)])
    assert [stored.id for stored in await write(lambda c: inbox.undecided(c, CHAT, limit=2))] == ids[:2]
    await write(lambda c: inbox.settle(c, [ids[2]], EventState.DECIDED, now=clock()))
    assert await write(inbox.open_conversations) == [str(CHAT)]
    await write(lambda c: inbox.settle_rest(c, [ids[0], ids[2]], EventState.DROPPED, now=clock()))
    states = [(await write(lambda c, i=i: inbox.find(c, i))).state for i in ids]
    assert states == [EventState.DROPPED, EventState.RECEIVED, EventState.DECIDED, EventState.RECEIVED]


async def test_a_turn_is_its_first_event_and_those_merged_into_it(write: Write, clock: StandingClock) -> None:
    first, other, second = await store(write, clock, message("a"), message("b"), message("c"))
    await write(lambda c: inbox.settle(c, [first], EventState.DECIDED, now=clock(), run_id="run-1"))
    await write(lambda c: inbox.settle(c, [second], EventState.MERGED, now=clock(), run_id="run-1", merged_into=first))
    turn = await write(lambda c: inbox.events_of_turn(c, first))
    assert [(stored.id, stored.run_id) for stored in turn] == [(first, "run-1"), (second, "run-1")]
    assert [stored.id for stored in await write(lambda c: inbox.undecided(c, CHAT))] == [other]


async def test_a_failed_decision_counts_waits_and_is_buried_at_last(write: Write, clock: StandingClock) -> None:
    (event_id,) = await store(write, clock, message("a"))
    later = clock.advance(60)
    await write(lambda c: inbox.postpone(c, event_id, until=later, error="why", bury=False))
    stored = await write(lambda c: inbox.find(c, event_id))
    assert (stored.state, stored.attempts, stored.available_at, stored.error) == (
        EventState.RECEIVED,
        1,
        later,
        "why",
    )
    await write(lambda c: inbox.postpone(c, event_id, until=later, error="why", bury=True))
    assert [stored.attempts for stored in await write(inbox.buried)] == [2]
    assert await write(inbox.count_open) == 0


async def test_what_is_buried_can_be_tried_again_or_let_go(write: Write, clock: StandingClock) -> None:
    again, gone, alive = await store(write, clock, message("a"), message("b"), message("c"))
    for event_id in (again, gone):
        await write(lambda c, e=event_id: inbox.postpone(c, e, until=clock(), error="e", bury=True))
    clock.advance(5)
    assert await write(lambda c: inbox.unbury(c, again, EventState.RECEIVED, now=clock()))
    assert await write(lambda c: inbox.unbury(c, gone, EventState.DROPPED, now=clock()))
    assert not await write(lambda c: inbox.unbury(c, alive, EventState.DROPPED, now=clock()))
    stored = await write(lambda c: inbox.find(c, again))
    assert (stored.state, stored.attempts, stored.available_at) == (EventState.RECEIVED, 0, clock())
    assert [stored.id for stored in await write(lambda c: inbox.undecided(c, CHAT))] == [again, alive]
    assert await write(inbox.buried) == []


async def test_steering_messages_end_with_their_run_told_or_decided_anew(write: Write, clock: StandingClock) -> None:
    told, untold, of_another = await store(write, clock, message("a"), message("b"), message("c"))
    await write(lambda c: inbox.settle(c, [told, untold], EventState.STEERING, now=clock(), run_id="run-1"))
    await write(lambda c: inbox.settle(c, [of_another], EventState.STEERING, now=clock(), run_id="run-2"))
    assert [stored.id for stored in await write(lambda c: inbox.steering(c, "run-1"))] == [told, untold]

    assert await write(lambda c: inbox.release_steering(c, "run-1", told=[told], now=clock()))

    assert (await write(lambda c: inbox.find(c, told))).state is EventState.DECIDED
    released = await write(lambda c: inbox.find(c, untold))
    assert (released.state, released.run_id) == (EventState.RECEIVED, None)
    assert [stored.id for stored in await write(lambda c: inbox.steering(c, "run-2"))] == [of_another]
    assert not await write(lambda c: inbox.release_steering(c, "run-1", told=[], now=clock()))
