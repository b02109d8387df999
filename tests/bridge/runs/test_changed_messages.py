"""A message is changed while its turn runs: the turn begins anew in the same answer."""

import asyncio
from collections.abc import Awaitable, Callable

from bridge.clock import utc_now
from bridge.dispatch.decision import Effects
from bridge.dispatch.dispatcher import Dispatcher, Rules
from bridge.inbox.config import InboxConfig
from bridge.persistence import clarifications, conversations, inbox, runs, transcript
from bridge.persistence.clarifications import AskedBy, ClarificationRecord
from bridge.runs.config import RunsConfig
from bridge.runs.records import CancelAction, RunRecord, RunStatus
from channels.contract import ChannelSection, Clarification, InboundEvent, Notice, NoticeKind, Text, ToolActivity
from tests.bridge.people import CHAT, edit, message, stop
from tests.bridge.replica import Replica
from tests.bridge.scripted import Says, Script

Play = Callable[..., Awaitable[tuple[Replica, Script]]]


async def decide(house: Replica, event: InboundEvent) -> None:
    """Let this arrive, be decided, and be carried out."""
    rules = Rules({"demo": ChannelSection()}, RunsConfig(), InboxConfig(), "lead_agent")
    await house.database.write(lambda c: inbox.insert(c, event, now=utc_now(), available_at=utc_now()))
    effects = await Dispatcher(house.database, rules, utc_now).decide_next(CHAT)
    assert isinstance(effects, Effects)
    house.queue.wake()
    for run_id, action in effects.to_stop.items():
        house.queue.interrupt(run_id, action)


async def only_run(house: Replica) -> RunRecord:
    record = await house.database.read(lambda c: conversations.find(c, CHAT))
    assert record is not None
    assert record.thread_id is not None
    (run,) = await house.manager.list(record.thread_id)
    return run


async def shown(house: Replica, run: RunRecord) -> list[object]:
    reply = await house.database.read(lambda c: transcript.reply_of(c, run.run_id))
    assert reply is not None
    return list(reply.parts)


async def test_the_answer_is_to_the_new_text_and_nothing_of_the_old_is_left(play: Play) -> None:
    house, script = await play(
        Says("Let me look.", tool="ls", args={"path": "/mnt/user-data"}),
        Says("Wrong way", gate=asyncio.Event()),
        Says("Right"),
    )
    await decide(house, message("tpyo", message_id="m-1"))
    await script.was_asked(2)
    await decide(house, edit("m-1", "typo"))
    run = await house.ended(await only_run(house))

    assert run.status is RunStatus.SUCCESS
    assert run.attempt == 1
    assert run.cancel_action is None
    assert script.asked[2][-1].text == "typo"
    assert [part for part in await shown(house, run) if isinstance(part, ToolActivity)] == []
    assert [part.markdown for part in await shown(house, run) if isinstance(part, Text)] == ["Right"]
    assert await house.texts(run.thread_id) == ["typo", "Right"]


async def test_changed_again_and_again_the_last_text_counts(play: Play) -> None:
    house, script = await play(*[Says("No", gate=asyncio.Event())] * 3, Says("Yes"))
    await decide(house, message("a", message_id="m-1"))
    for number, text in enumerate("bcd", start=1):
        await script.was_asked(number)
        await decide(house, edit("m-1", text))
    run = await house.ended(await only_run(house))
    assert await house.texts(run.thread_id) == ["d", "Yes"]


async def test_a_stop_wins_over_a_change(play: Play) -> None:
    house, script = await play(Says("No", gate=asyncio.Event()))
    await decide(house, message("a", message_id="m-1"))
    await script.was_asked(1)
    run = await only_run(house)
    house.queue.interrupt(run.run_id, CancelAction.RESTART)
    await decide(house, stop(run.run_id))
    run = await house.ended(run)
    assert run.status is RunStatus.INTERRUPTED
    assert [part.kind for part in await shown(house, run) if isinstance(part, Notice)] == ["notice"]
    notices = [part for part in await shown(house, run) if isinstance(part, Notice)]
    assert [notice.notice for notice in notices] == [NoticeKind.STOPPED]


async def test_a_process_that_dies_before_it_began_anew_leaves_it_to_the_next(play: Play) -> None:
    house, script = await play(Says("No", gate=asyncio.Event()), Says("Yes"))
    await decide(house, message("a", message_id="m-1"))
    await script.was_asked(1)
    run = await only_run(house)
    await house.queue.stop()
    amended = edit("m-1", "b")
    await house.database.write(lambda c: inbox.insert(c, amended, now=utc_now(), available_at=utc_now()))
    rules = Rules({"demo": ChannelSection()}, RunsConfig(), InboxConfig(), "lead_agent")
    await Dispatcher(house.database, rules, utc_now).decide_next(CHAT)
    asked = await house.database.read(lambda c: runs.find(c, run.run_id))
    assert asked is not None
    assert asked.cancel_action is CancelAction.RESTART
    await house.queue.start()
    run = await house.ended(run)
    assert run.status is RunStatus.SUCCESS
    assert (await house.texts(run.thread_id))[0] == "b"


async def test_what_the_old_turn_has_asked_is_asked_no_more(play: Play) -> None:
    house, script = await play(Says("No", gate=asyncio.Event()), Says("Yes"))
    await decide(house, message("a", message_id="m-1"))
    await script.was_asked(1)
    run = await only_run(house)
    asked = ClarificationRecord(
        Clarification("tok", "Which?"), run.run_id, "call-1", run.thread_id, AskedBy.QUESTION, "ann"
    )
    await house.database.write(lambda c: clarifications.ensure(c, asked, now=utc_now()))
    await decide(house, edit("m-1", "b"))
    await house.ended(run)
    assert await house.database.read(lambda c: clarifications.open_on(c, run.thread_id)) == []


async def test_a_stop_is_not_overtaken_by_an_older_wish_to_begin_anew(play: Play) -> None:
    """Symptom: the heartbeat repeated the wish after the stop, and the turn went on for as long as a heartbeat lasts."""
    house, script = await play(Says("No", gate=asyncio.Event()))
    await decide(house, message("a", message_id="m-1"))
    await script.was_asked(1)
    run = await only_run(house)
    house.queue.interrupt(run.run_id, CancelAction.INTERRUPT)
    house.queue.interrupt(run.run_id, CancelAction.RESTART)
    assert (await house.ended(run)).status is RunStatus.INTERRUPTED
