"""RunManager: what the chats and the API ask of it, with a real agent behind it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import update

from bridge.errors import InvalidRequest, NotFound, RunFinished, ThreadBusy
from bridge.persistence import runs, stream_parts, transcript
from bridge.persistence.tables import runs as t
from bridge.runs import manager
from bridge.runs.records import CancelAction, MultitaskStrategy, NewRun, PartId, RunSpec, RunStatus
from channels.contract import Notice, NoticeKind, Text
from tests.bridge.replica import Replica, streamed_text
from tests.bridge.scripted import Says, Script

Play = Callable[..., Awaitable[tuple[Replica, Script]]]


async def test_a_run_answers_and_ends_once(play: Play) -> None:
    house, script = await play(Says("Hello dear reader"))
    run = await house.run("hi")
    assert run.status is RunStatus.PENDING

    ended = await house.ended(run)

    assert (ended.status, ended.attempt, ended.owner, ended.error) == (RunStatus.SUCCESS, 1, None, None)
    assert ended.checkpoint_after is not None
    assert await house.texts() == ["hi", "Hello dear reader"]
    assert len(script.asked) == 1
    assert (await house.threads.get("t")).status == "idle"


async def test_a_stream_begins_with_metadata_and_ends_with_end(play: Play) -> None:
    house, _ = await play(Says("Hello dear reader"))
    run = await house.run("hi")

    parts = await house.parts(run)

    assert parts[0].mode == "metadata"
    assert parts[0].data == {"run_id": run.run_id, "attempt": 1}
    assert parts[-1].mode == "end"
    assert [part.id for part in parts] == [PartId(1, number) for number in range(1, len(parts) + 1)]
    assert streamed_text(parts) == "Hello dear reader"
    assert {"messages", "updates", "values"} <= {part.mode for part in parts}


async def test_all_readers_see_the_same_whenever_they_come(play: Play) -> None:
    gate = asyncio.Event()
    house, script = await play(Says("A long answer", gate=gate))
    run = await house.run("hi")
    early = [asyncio.create_task(house.parts(run)) for _ in range(3)]
    await script.was_asked(1)
    middle = asyncio.create_task(house.parts(run))
    gate.set()
    seen = await asyncio.gather(*early, middle)
    late = await house.parts(run)

    assert all(parts == late for parts in seen)
    half = late[len(late) // 2].id
    assert await house.parts(run, after=half) == [part for part in late if part.id > half]


async def test_a_reader_that_comes_after_the_stream_was_forgotten_gets_the_final_values(play: Play) -> None:
    house, _ = await play(Says("Hello dear reader"))
    run = await house.ended(await house.run("hi"))
    last = (await house.parts(run))[-1].id
    assert run.ended_at is not None
    await house.database.write(
        lambda connection: stream_parts.forget(connection, ended_before=run.ended_at.replace(year=2099))
    )

    values, end = await house.parts(run)
    assert values.mode == "values"
    assert values.data["messages"][-1]["content"] == "Hello dear reader"
    assert end.mode == "end"
    again = await house.parts(run, after=last)
    assert [part.mode for part in again] == ["values", "end"]
    assert again[0].id > last


async def test_the_runs_of_a_thread_go_in_order_and_those_of_others_beside_them(play: Play) -> None:
    gate = asyncio.Event()
    house, script = await play(Says("one", gate=gate), Says("two"), Says("three"))
    first = await house.run("first", multitask=MultitaskStrategy.ENQUEUE)
    await script.was_asked(1)
    second = await house.run("second", multitask=MultitaskStrategy.ENQUEUE)
    elsewhere = await house.run("other", "elsewhere")

    assert (await house.ended(elsewhere)).status is RunStatus.SUCCESS
    assert (await house.manager.get("t", second.run_id)).status is RunStatus.PENDING
    assert await house.database.read(lambda c: runs.count_ahead(c, second.run_id)) == 1
    gate.set()
    await house.ended(second)
    assert (await house.manager.get("t", first.run_id)).status is RunStatus.SUCCESS
    assert await house.texts() == ["first", "one", "second", "three"]


async def test_runs_are_listed_newest_first_and_by_status(play: Play) -> None:
    house, _ = await play(Says("done"), Says(error=ValueError("broken")))
    first = await house.ended(await house.run("a"))
    second = await house.ended(await house.run("b"))

    assert [run.run_id for run in await house.manager.list("t")] == [second.run_id, first.run_id]
    assert [run.run_id for run in await house.manager.list("t", limit=1, offset=1)] == [first.run_id]
    assert [run.run_id for run in await house.manager.list("t", status=RunStatus.SUCCESS)] == [first.run_id]


async def test_a_failure_ends_the_run_says_so_and_shows_no_secret(play: Play) -> None:
    house, _ = await play(Says("Half a", error=ValueError("the key sk-secret is wrong")))
    run = await house.ended(await house.run("hi"))

    assert run.status is RunStatus.ERROR
    assert run.error is not None
    assert "sk-secret" not in str(run.error)
    assert (await house.threads.get("t")).status == "error"
    parts = await house.parts(run)
    assert [part.mode for part in parts[-2:]] == ["error", "end"]
    reply = await house.database.read(lambda c: transcript.reply_of(c, run.run_id))
    assert reply is not None
    assert reply.is_final
    assert isinstance(reply.parts[-1], Notice)
    assert "sk-secret" not in str(reply)


async def test_what_cannot_be_started_is_refused(play: Play) -> None:
    house, _ = await play(Says("done"))
    with pytest.raises(InvalidRequest):
        await house.manager.create(NewRun("t", assistant_id="nobody", if_not_exists="create"))
    with pytest.raises(NotFound):
        await house.manager.create(NewRun("no-such-thread", spec=RunSpec(input={"messages": []})))
    run = await house.ended(await house.run("hi"))
    with pytest.raises(NotFound):
        await house.manager.get("another-thread", run.run_id)
    with pytest.raises(NotFound):
        await house.manager.wait("no-such-run")
    with pytest.raises(RunFinished):
        await house.manager.cancel(run.run_id)


async def test_a_run_can_be_deleted_only_when_it_has_ended(play: Play) -> None:
    gate = asyncio.Event()
    house, script = await play(Says("one", gate=gate))
    run = await house.run("hi")
    await script.was_asked(1)
    with pytest.raises(ThreadBusy):
        await house.manager.delete("t", run.run_id)
    with pytest.raises(ThreadBusy):
        await house.threads.delete("t")
    gate.set()
    await house.ended(run)
    await house.manager.delete("t", run.run_id)
    with pytest.raises(NotFound):
        await house.manager.get("t", run.run_id)
    await house.threads.delete("t")
    assert await house.texts() == []


async def test_what_was_said_is_written_down(play: Play) -> None:
    house, _ = await play(Says("Hello dear reader"))
    run = await house.ended(await house.run("hi"))
    said, answer = await house.database.read(lambda c: transcript.entries(c, "t"))
    assert (said.text, said.run_id, said.seq) == ("hi", run.run_id, 1)
    assert answer.reply is not None
    assert [part.markdown for part in answer.reply.parts if isinstance(part, Text)] == ["Hello dear reader"]


async def test_a_run_that_waits_is_cancelled_at_once(play: Play) -> None:
    gate = asyncio.Event()
    house, script = await play(Says("one", gate=gate), Says("two"))
    first = await house.run("first")
    await script.was_asked(1)
    waiting = await house.run("second", multitask=MultitaskStrategy.ENQUEUE)
    reader = asyncio.create_task(house.parts(waiting))
    await asyncio.sleep(0)

    cancelled = await house.manager.cancel(waiting.run_id)

    assert cancelled.status is RunStatus.INTERRUPTED
    assert [part.mode for part in await reader][-1] == "end"
    assert (await house.manager.cancel(waiting.run_id)).status is RunStatus.INTERRUPTED
    gate.set()
    await house.ended(first)
    assert await house.texts() == ["first", "one"]


async def test_a_running_run_stops_and_keeps_what_it_had_done(play: Play) -> None:
    house, script = await play(
        Says("Wait", tool="ls", args={"path": "/mnt/user-data"}), Says("Half an", gate=asyncio.Event())
    )
    run = await house.run("hi")
    await script.was_asked(2)
    await house.first(run, "messages")

    stopped = await house.manager.cancel(run.run_id, wait=True)

    assert stopped.status is RunStatus.INTERRUPTED
    assert (await house.texts())[:2] == ["hi", "Wait"]
    assert (await house.threads.get("t")).status == "interrupted"
    assert (await house.parts(run))[-1].mode == "end"


async def test_the_answer_of_a_stopped_run_is_written_down_as_it_was_shown(play: Play) -> None:
    """Symptom: the words shown before a stop were missing when the page was loaded again."""
    house, script = await play(Says("Half an answer", gate=asyncio.Event()))
    run = await house.run("hi")
    await script.was_asked(1)
    await house.first(run, "messages")
    await asyncio.sleep(0.05)
    await house.manager.cancel(run.run_id, wait=True)

    reply = await house.database.read(lambda c: transcript.reply_of(c, run.run_id))
    assert reply is not None
    assert [part.markdown for part in reply.parts if isinstance(part, Text)] == [streamed_text(await house.parts(run))]
    assert [part.text for part in reply.parts if isinstance(part, Notice)] == ["Stopped."]


async def test_a_rollback_leaves_the_thread_as_it_was(play: Play) -> None:
    house, script = await play(
        Says("one"), Says("doing", tool="ls", args={"path": "/mnt/user-data"}), Says("Half", gate=asyncio.Event())
    )
    await house.ended(await house.run("first"))
    run = await house.run("second")
    await script.was_asked(3)

    stopped = await house.manager.cancel(run.run_id, CancelAction.ROLLBACK, wait=True)

    assert stopped.status is RunStatus.INTERRUPTED
    assert await house.texts() == ["first", "one"]


async def test_a_rollback_asked_before_the_run_began_keeps_the_thread(play: Play) -> None:
    """Symptom: a run rolled back in its first moment took the whole thread with it."""
    house, script = await play(Says("one"), Says("two"))
    await house.ended(await house.run("first"))
    await house.queue.stop()
    run = await house.run("second")
    claimed = await house.database.write(
        lambda c: runs.claim_next(c, owner="dead", now=run.created_at, lease_expires_at=run.created_at)
    )
    assert claimed is not None
    await house.manager.cancel(run.run_id, CancelAction.ROLLBACK)
    await house.queue.start(["dead"])

    assert (await house.ended(run)).status is RunStatus.INTERRUPTED
    assert await house.texts() == ["first", "one"]
    assert len(script.asked) == 1


@pytest.mark.parametrize("strategy", [MultitaskStrategy.INTERRUPT, MultitaskStrategy.ROLLBACK])
async def test_a_new_run_can_take_the_place_of_those_before(play: Play, strategy: MultitaskStrategy) -> None:
    house, script = await play(Says("Half", gate=asyncio.Event()), Says("done"))
    running = await house.run("first")
    await script.was_asked(1)
    waiting = await house.run("second", multitask=MultitaskStrategy.ENQUEUE)
    third = await house.run("third", multitask=strategy)

    assert (await house.ended(third)).status is RunStatus.SUCCESS
    assert (await house.ended(running)).status is RunStatus.INTERRUPTED
    assert (await house.ended(waiting)).status is RunStatus.INTERRUPTED
    kept = ["first"] if strategy is MultitaskStrategy.INTERRUPT else []
    assert await house.texts() == [*kept, "third", "done"]


async def test_who_waits_for_a_run_learns_at_once_that_another_took_its_place(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Symptom: the chat of a waiting turn was told two seconds later that it had been stopped."""
    monkeypatch.setattr(manager, "_POLL_SECONDS", 60)
    house, _ = await play(Says("done"))
    await house.queue.stop()
    waiting = await house.run("first")
    with house.signals.watch(f"run:{waiting.run_id}", "thread:t") as watch:
        waiter = asyncio.create_task(house.manager.wait(waiting.run_id))
        await asyncio.sleep(0.1)
        await house.run("second", multitask=MultitaskStrategy.INTERRUPT)
        async with asyncio.timeout(4):
            assert (await waiter).status is RunStatus.INTERRUPTED
        assert await watch.wait(0)


async def test_a_forgotten_run_is_told_to_those_who_watch_it(play: Play) -> None:
    house, _ = await play(Says("done"))
    run = await house.ended(await house.run("first"))
    with house.signals.watch(f"run:{run.run_id}") as of_run, house.signals.watch("thread:t") as of_thread:
        await house.manager.delete("t", run.run_id)
        assert await of_run.wait(0)
        assert await of_thread.wait(0)


async def test_a_busy_thread_refuses_unless_told_otherwise(play: Play) -> None:
    gate = asyncio.Event()
    house, script = await play(Says("one", gate=gate))
    run = await house.run("first")
    await script.was_asked(1)
    with pytest.raises(ThreadBusy):
        await house.run("second")
    gate.set()
    await house.ended(run)
    await house.ended(await house.run("third"))


@pytest.mark.parametrize("spec", [{"input": None, "of_another_version": 1}, ["no mapping"], None])
async def test_a_run_that_cannot_be_read_ends_with_a_word_and_holds_nobody_up(
    play: Play, spec: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Symptom: no run of any thread began any more."""
    house, script = await play(Says("done"))
    await house.queue.stop()
    bad = await house.run("bad", multitask=MultitaskStrategy.ENQUEUE)
    behind = await house.run("behind", multitask=MultitaskStrategy.ENQUEUE)
    elsewhere = await house.run("elsewhere", "elsewhere")
    await house.database.write(lambda c: c.execute(update(t).where(t.c.run_id == bad.run_id).values(spec=spec)))
    await house.queue.start()

    ended = await house.ended(bad)
    assert (ended.status, ended.attempt) == (RunStatus.ERROR, 1)
    assert ended.error is not None
    assert ended.error["error"] == "UnreadableRun"
    assert (await house.ended(behind)).status is RunStatus.SUCCESS
    assert (await house.ended(elsewhere)).status is RunStatus.SUCCESS
    reply = await house.database.read(lambda c: transcript.reply_of(c, bad.run_id))
    assert reply is not None
    assert [part.notice for part in reply.parts if isinstance(part, Notice)] == [NoticeKind.ERROR]
    assert len(script.asked) == 2
    assert [record.levelname for record in caplog.records if bad.run_id in record.getMessage()] == ["ERROR"]
    assert len(await house.manager.list("t")) == 2
