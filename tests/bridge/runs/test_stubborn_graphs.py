"""A tool that swallows its cancellation for ever: the run ends all the same, and what goes on can write nothing."""

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from langchain_core.tools import BaseTool, tool

from agent import factory
from bridge.persistence import runs, stream_parts, transcript
from bridge.runs.records import CancelAction, MultitaskStrategy, PartId, RunStatus
from channels.contract import Notice, NoticeKind
from tests.bridge.replica import Replica
from tests.bridge.runs.conftest import Start
from tests.bridge.scripted import Says, Script, scripted

Play = Callable[..., Awaitable[tuple[Replica, Script]]]


class Stubborn:
    """The tool, and the only way to end it."""

    def __init__(self) -> None:
        self.began, self.release, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.cancelled = 0

    def tool(self) -> BaseTool:
        @tool
        async def cling() -> str:
            """Goes on for ever."""
            self.began.set()
            while not self.release.is_set():
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    self.cancelled += 1
            self.ended.set()
            return "I did it all the same"

        return cling


@pytest.fixture
async def stubborn(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stubborn]:
    stubborn = Stubborn()
    build = factory.build_toolbox
    monkeypatch.setattr(factory, "build_toolbox", lambda *args: [*build(*args), stubborn.tool()])
    yield stubborn
    stubborn.release.set()
    await asyncio.sleep(0.05)


async def test_a_stop_ends_the_run_within_a_second(play: Play, stubborn: Stubborn) -> None:
    """Symptom: /stop said that it was stopped, and the chat waited for the tool for ever."""
    house, _ = await play(Says("Wait", tool="cling"), Says("Next"))
    run = await house.run("go")
    await asyncio.wait_for(stubborn.began.wait(), 10)
    asked = time.monotonic()

    stopped = await house.manager.cancel(run.run_id, wait=True)

    assert time.monotonic() - asked < 1
    assert stopped.status is RunStatus.INTERRUPTED
    assert stubborn.cancelled
    reply = await house.database.read(lambda c: transcript.reply_of(c, run.run_id))
    assert reply is not None
    assert [part.notice for part in reply.parts if isinstance(part, Notice)] == [NoticeKind.STOPPED]
    following = await house.ended(await house.run("next", multitask=MultitaskStrategy.ENQUEUE))
    assert following.status is RunStatus.SUCCESS
    assert not stubborn.ended.is_set()


async def test_what_goes_on_is_owned_logged_and_writes_nothing(
    play: Play, stubborn: Stubborn, caplog: pytest.LogCaptureFixture
) -> None:
    house, script = await play(Says("Wait", tool="cling"), Says("Never said"))
    run = await house.run("go")
    await asyncio.wait_for(stubborn.began.wait(), 10)
    with caplog.at_level(logging.ERROR, "bridge.runs"):
        await house.manager.cancel(run.run_id, wait=True)
    assert [record.getMessage().split(" goes on ")[0] for record in caplog.records] == [f"graph-{run.run_id}"]
    assert house.stubborn._tasks
    stands = await house.agent.newest_checkpoint("t")
    shown = await house.parts(run)

    stubborn.release.set()
    async with asyncio.timeout(5):
        while house.stubborn._tasks:  # noqa: ASYNC110  a task that was given up tells nobody of its end
            await asyncio.sleep(0.01)

    assert stubborn.ended.is_set()
    assert await house.agent.newest_checkpoint("t") == stands
    assert "I did it all the same" not in await house.texts()
    assert await house.parts(run) == shown
    assert await house.database.read(lambda c: stream_parts.read(c, run.run_id, shown[-1].id)) == []
    assert len(script.asked) == 1


async def test_the_fence_is_raised_before_the_run_ends(play: Play, stubborn: Stubborn) -> None:
    house, _ = await play(Says("Wait", tool="cling"))
    run = await house.run("go")
    await asyncio.wait_for(stubborn.began.wait(), 10)
    held = await house.manager.get("t", run.run_id)
    stopped = await house.manager.cancel(run.run_id, wait=True)
    assert stopped.fence == held.fence + 1


async def test_a_rollback_is_carried_out_all_the_same(play: Play, stubborn: Stubborn) -> None:
    house, _ = await play(Says("one"), Says("Wait", tool="cling"))
    await house.ended(await house.run("first"))
    run = await house.run("second")
    await asyncio.wait_for(stubborn.began.wait(), 10)
    stopped = await house.manager.cancel(run.run_id, CancelAction.ROLLBACK, wait=True)
    assert stopped.status is RunStatus.INTERRUPTED
    stubborn.release.set()
    await asyncio.sleep(0.1)
    assert await house.texts() == ["first", "one"]


async def test_a_process_that_stops_leaves_the_run_to_the_next(
    beside: Start, stubborn: Stubborn, request: pytest.FixtureRequest
) -> None:
    """Symptom: SIGTERM had no end while such a tool was at work."""
    config, _ = scripted(request.node.name, Says("Wait", tool="cling"), Says("Done"))
    began = time.monotonic()
    async with beside(config, owner="first") as first:
        run = await first.run("go")
        await asyncio.wait_for(stubborn.began.wait(), 10)
        began = time.monotonic()
    assert time.monotonic() - began < 3
    left = await first.database.read(lambda c: runs.find(c, run.run_id))
    assert left is not None
    assert (left.status, left.owner) == (RunStatus.RUNNING, None)
    assert first.stubborn._tasks
    assert await first.database.read(lambda c: stream_parts.read(c, run.run_id, PartId(0, 0)))


SERVING = """
import asyncio, os, signal, sys
from pathlib import Path
from bridge import app
from bridge.config import load_config

async def cling():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

opened = app.open_bridge

def watched(config):
    for number in range(int(sys.argv[2])):
        asyncio.get_running_loop().call_later(1 + number / 10, os.kill, os.getpid(), signal.SIGTERM)
    app.clinging = asyncio.create_task(cling(), name="clinging")
    return opened(config)

app.open_bridge = watched
asyncio.run(app.run(load_config(Path(sys.argv[1]), {})))
"""


@pytest.mark.parametrize("signals", [1, 2])
async def test_the_program_ends_at_sigterm_whatever_goes_on(tmp_path: Path, signals: int) -> None:
    """Symptom: the event loop waited for such a tool until somebody killed the process."""
    config = tmp_path / "config.yaml"
    config.write_text(f"home: {tmp_path / 'home'}\ngateway: {{port: 0}}\n")
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SERVING,
        str(config),
        str(signals),
        cwd=Path(__file__).parents[3],
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            _, said = await program.communicate()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    assert program.returncode == 0, said.decode()
    assert b"left behind: clinging" in said
