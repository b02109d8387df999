"""What becomes of a run whose process dies, stalls or stops: it goes on elsewhere, and only there."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from bridge.errors import LeaseExpired
from bridge.persistence import runs, stream_parts, transcript
from bridge.persistence.database import Database
from bridge.runs import queue
from bridge.runs.records import NewRun, PartId, RunRecord, RunSpec, RunStatus
from channels.contract import Notice, NoticeKind, Text
from tests.bridge.replica import Replica, streamed_text
from tests.bridge.runs.conftest import Start
from tests.bridge.scripted import Says, Script, scripted

Play = Callable[..., Awaitable[tuple[Replica, Script]]]
EFFECT = {"path": "/mnt/user-data/outputs/log.txt", "content": "once\n", "append": True}


async def shown(database: Database, run: RunRecord) -> list[str]:
    """The texts of the answer as it was written down."""
    reply = await database.read(lambda c: transcript.reply_of(c, run.run_id))
    assert reply is not None
    return [part.markdown for part in reply.parts if isinstance(part, Text)]


async def test_a_run_left_behind_goes_on_from_its_last_finished_step(
    beside: Start, database: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    gate = asyncio.Event()
    config, script = scripted(
        request.node.name,
        Says("I write it down.", tool="write_file", args=EFFECT),
        Says("Half of the", gate=gate),
        Says("All is done"),
    )
    async with beside(config, owner="stalled") as stalled:
        run = await stalled.run("go")
        await script.was_asked(2)
        await asyncio.sleep(0.02)
        async with beside(config, owner="heir", from_owners=["stalled"]) as heir:
            ended = await heir.ended(run)
            parts = await heir.parts(run)
            messages = await heir.texts()
            gate.set()

    assert (ended.status, ended.attempt) == (RunStatus.SUCCESS, 2)
    assert len(script.asked) == 3
    assert (tmp_path / "threads/t/outputs/log.txt").read_text() == "once\n"
    assert [text for text in messages if text in {"go", "I write it down.", "Half of the", "All is done"}] == [
        "go",
        "I write it down.",
        "All is done",
    ]
    assert await shown(database, run) == ["I write it down.", "All is done"]
    starts = [part.data["attempt"] for part in parts if part.mode == "metadata"]
    assert starts[-1] == 2
    assert [part.id for part in parts] == sorted({part.id for part in parts})


async def test_the_former_owner_commits_nothing_when_it_wakes_up(
    beside: Start, database: Database, request: pytest.FixtureRequest
) -> None:
    mine, theirs = asyncio.Event(), asyncio.Event()
    config, script = scripted(request.node.name, Says("too late", gate=mine), Says("the answer", gate=theirs))
    async with beside(config, owner="stalled") as stalled:
        run = await stalled.run("go")
        await script.was_asked(1)
        async with beside(config, owner="heir", from_owners=["stalled"]) as heir:
            await script.was_asked(2)
            mine.set()
            await asyncio.wait(stalled.queue._tasks)
            held = await heir.manager.get("t", run.run_id)
            assert (held.status, held.owner, held.attempt) == (RunStatus.RUNNING, "heir", 2)
            theirs.set()
            assert (await heir.ended(run)).status is RunStatus.SUCCESS
            assert await heir.texts() == ["go", "the answer"]
    assert await shown(database, run) == ["the answer"]


async def test_a_lease_that_has_run_out_forbids_the_commit(play: Play) -> None:
    """The process stood still; nobody has taken the run yet, but somebody may at any moment."""
    gate = asyncio.Event()
    house, script = await play(Says("too late", gate=gate), Says("second time"))
    run = await house.run("go")
    await script.was_asked(1)
    house.queue._active[run.run_id].lease.prolong(time.monotonic() - 1)
    gate.set()

    ended = await house.ended(run)

    assert (ended.status, ended.attempt) == (RunStatus.SUCCESS, 2)
    ends = [part for part in await house.parts(run) if part.mode == "end"]
    assert [part.id.attempt for part in ends] == [2]


async def test_a_process_that_takes_its_own_run_anew_keeps_the_new_lease(play: Play) -> None:
    """Symptom: after a pause the second attempt lost its lease too, and so on until the run was given up."""
    first, second = asyncio.Event(), asyncio.Event()
    house, script = await play(
        Says("first", gate=first), Says("second", gate=second), lease_seconds=0.6, heartbeat_seconds=0.1
    )
    run = await house.run("go")
    await script.was_asked(1)
    over = run.created_at - timedelta(seconds=1)
    while house.queue._active[run.run_id].run.attempt == 1:  # a heartbeat may come in between
        await house.database.write(lambda c: runs.renew(c, "replica", [run.run_id], lease_expires_at=over))
        await house.queue._claim_all()
    await script.was_asked(2)
    first.set()
    for _ in range(10):
        await asyncio.sleep(0.08)
    second.set()

    ended = await house.ended(run)

    assert (ended.status, ended.attempt) == (RunStatus.SUCCESS, 2)
    assert await house.texts() == ["go", "second"]


async def test_a_run_that_never_gets_through_is_given_up_with_a_word(play: Play, database: Database) -> None:
    house, script = await play(Says("Half", gate=asyncio.Event()), max_attempts=1)
    run = await house.run("go")
    await script.was_asked(1)
    await house.first(run, "messages")
    await house.hub._save_all()
    await house.queue.stop()
    await house.queue.start()

    ended = await house.ended(run)

    assert (ended.status, ended.attempt) == (RunStatus.ERROR, 2)
    assert ended.error is not None
    assert ended.error["error"] == "TooManyAttempts"
    reply = await database.read(lambda c: transcript.reply_of(c, run.run_id))
    assert reply is not None
    assert [part.notice for part in reply.parts if isinstance(part, Notice)] == [NoticeKind.ERROR]
    assert await shown(database, run) == ["Half"]
    assert streamed_text(await house.parts(run)) == "Half"
    assert len(script.asked) == 1


async def test_a_run_whose_states_are_refused_is_tried_with_pauses_and_then_given_up(
    play: Play, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Symptom: after the tables were restored from a backup without the checkpoints, a run was claimed many times a second for ever."""
    monkeypatch.setattr(queue, "_BACK_OFF_SECONDS", 0.2)
    house, script = await play(Says("one"), max_attempts=2)
    await house.ended(await house.run("first"))
    await house.agent.claim("t", 1000)
    began = time.monotonic()

    ended = await house.ended(await house.run("second"))

    assert time.monotonic() - began >= 0.2 + 0.4
    assert (ended.status, ended.attempt) == (RunStatus.ERROR, 3)
    assert ended.error is not None
    assert ended.error["error"] == "TooManyAttempts"
    told = [record.getMessage() for record in caplog.records if "no other process has it" in record.getMessage()]
    assert len(told) == 2
    assert "stands at fence 1000" in told[0]
    assert len(script.asked) == 1


async def test_a_stopping_process_gives_its_runs_back_at_once(
    beside: Start, request: pytest.FixtureRequest, database: Database
) -> None:
    config, script = scripted(request.node.name, Says("Half", gate=asyncio.Event()), Says("whole"))
    async with beside(config, owner="first") as first:
        run = await first.run("go")
        await script.was_asked(1)
    left = await database.read(lambda c: runs.find(c, run.run_id))
    assert left is not None
    assert (left.status, left.owner) == (RunStatus.RUNNING, None)
    async with beside(config, owner="second") as second:
        assert (await second.ended(run)).status is RunStatus.SUCCESS
        assert await second.texts() == ["go", "whole"]


async def test_a_draining_process_finishes_the_step_and_leaves_the_rest(
    beside: Start, tmp_path: Path, request: pytest.FixtureRequest, database: Database
) -> None:
    gate = asyncio.Event()
    config, script = scripted(
        request.node.name, Says("Noted.", tool="write_file", args=EFFECT, gate=gate), Says("Done.")
    )
    async with beside(config, owner="first", drain_seconds=10) as first:
        run = await first.run("go")
        await script.was_asked(1)
        asyncio.get_running_loop().call_later(0.02, gate.set)
    assert len(script.asked) == 1
    async with beside(config, owner="second") as second:
        assert (await second.ended(run)).attempt == 2
    assert (tmp_path / "threads/t/outputs/log.txt").read_text() == "once\n"
    assert await shown(database, run) == ["Noted.", "Done."]


async def test_a_run_whose_last_step_was_stored_is_not_run_again(
    beside: Start, request: pytest.FixtureRequest, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, script = scripted(request.node.name, Says("The whole answer"))
    async with beside(config, owner="first") as first:
        monkeypatch.setattr(runs, "finish", _dies)
        run = await first.run("go")
        await script.was_asked(1)
        await asyncio.wait(first.queue._tasks)
        monkeypatch.undo()
        async with beside(config, owner="second", from_owners=["first"]) as second:
            assert (await second.ended(run)).status is RunStatus.SUCCESS
            assert await second.texts() == ["go", "The whole answer"]
    assert len(script.asked) == 1
    assert await shown(database, run) == ["The whole answer"]


async def test_a_stop_asked_of_a_dead_process_is_carried_out_by_its_heir(
    beside: Start, request: pytest.FixtureRequest, database: Database
) -> None:
    config, script = scripted(request.node.name, Says("Half", gate=asyncio.Event()))
    async with beside(config, owner="dead") as dead:
        run = await dead.run("go")
        await script.was_asked(1)
        async with beside(config, owner="other", heartbeat_seconds=15) as other:
            await other.manager.cancel(run.run_id)
        async with beside(config, owner="heir", from_owners=["dead"]) as heir:
            assert (await heir.ended(run)).status is RunStatus.INTERRUPTED
    assert len(script.asked) == 1


async def test_a_stop_reaches_the_process_that_runs_it(
    beside: Start, request: pytest.FixtureRequest, database: Database
) -> None:
    config, script = scripted(request.node.name, Says("Half", gate=asyncio.Event()))
    async with (
        beside(config, owner="runner", lease_seconds=1, heartbeat_seconds=0.05) as runner,
        beside(config, owner="other") as other,
    ):
        run = await runner.run("go")
        await script.was_asked(1)
        stopped = await other.manager.cancel(run.run_id, wait=True)
        assert stopped.status is RunStatus.INTERRUPTED


async def test_parts_of_a_lost_attempt_are_not_stored(play: Play) -> None:
    house, _ = await play(Says("Half", gate=asyncio.Event()))
    run = await house.run("go")
    await house.first(run, "messages")
    await house.hub._save_all()
    before = await house.database.read(lambda c: stream_parts.read(c, run.run_id, PartId(0, 0)))
    await house.database.write(
        lambda c: runs.claim_next(
            c, owner="heir", now=run.created_at, lease_expires_at=run.created_at, from_owners=["replica"]
        )
    )
    house.hub._live[run.run_id].emit("custom", (), {"late": True})
    await house.hub._save_all()
    assert await house.database.read(lambda c: stream_parts.read(c, run.run_id, PartId(0, 0))) == before


def _dies(*_args: object, **_options: object) -> bool:
    raise LeaseExpired("the process died before the end was committed")


async def test_a_resumed_run_keeps_what_it_had_said_before_a_crash(
    beside: Start, request: pytest.FixtureRequest, database: Database
) -> None:
    gate = asyncio.Event()
    config, script = scripted(
        request.node.name,
        Says("Before.", tool="write_file", args=EFFECT),
        Says("Noted.", tool="ls", args={"path": "/mnt/user-data/outputs"}),
        Says("Half", gate=gate),
        Says("Done."),
    )
    async with beside(config, owner="stalled") as stalled:
        paused = await stalled.manager.create(
            NewRun(
                "t",
                spec=RunSpec(input={"messages": [{"type": "human", "content": "go"}]}, interrupt_before=["tools"]),
                if_not_exists="create",
            )
        )
        await stalled.ended(paused)
        run = await stalled.manager.create(NewRun("t", spec=RunSpec(command={"resume": "yes"})))
        await script.was_asked(3)
        async with beside(config, owner="heir", from_owners=["stalled"]) as heir:
            assert (await heir.ended(run)).attempt == 2
            gate.set()
    assert await shown(database, run) == ["Noted.", "Done."]


async def test_what_was_shown_but_never_stored_gives_way_to_the_step_done_again(play: Play, database: Database) -> None:
    """Symptom: after a crash between a step's end and its checkpoint the answer said the same twice."""
    house, script = await play(Says("First try", gate=asyncio.Event()), Says("Second try"))
    run = await house.run("go")
    await script.was_asked(1)
    finished = {"model": {"messages": [{"type": "ai", "id": "lost", "content": "First try"}]}}
    house.hub._live[run.run_id].emit("updates", (), finished)
    await house.queue.stop()
    await house.hub._save_all()
    await house.queue.start()
    await house.ended(run)
    assert await shown(database, run) == ["Second try"]
