"""A process that stands still past its lease: whoever goes on instead is not disturbed when it wakes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.evidence import rows
from tests.e2e.house import running
from tests.e2e.line import Line
from tests.e2e.program import Program
from tests.e2e.reading import answers
from tests.simulators.model.client import ModelSimulator
from tests.simulators.model.script import Gate, Text
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = pytest.mark.e2e

LISTENING = {"getUpdates", "getMe", "deleteWebhook"}
STALL_SECONDS = 6.0  # the lease lasts 4


@pytest.mark.postgres
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_it_commits_nothing_and_says_nothing_once_another_has_taken_over(
    tmp_path: Path, settings: dict[str, Any], telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await model.script(Text("The first one begins, ", 20), Gate("first"), Text("and must not end."), match="question")
    await model.script(Text("The second one begins, "), Gate("second"), Text("and ends."), match="question")
    async with Line(telegram.base_url) as line, running(tmp_path / "first", _through(settings, line)) as first:
        await ana.send("question")
        await telegram.wait_for(ana.id, lambda view: view.drafts and "begins," in view.drafts[0].text, 30)
        first.freeze()
        async with running(tmp_path / "second", settings) as second:
            await model.gate_reached("second", 40)
            said = len(line.calls)
            first.thaw()
            await model.release("first")
            await asyncio.sleep(4)  # longer than its heartbeat, and than what it needs to end its answer
            assert set(line.calls[said:]) <= LISTENING
            await model.release("second")
            chat = await telegram.wait_for(ana.id, answers, 30)
            await asyncio.sleep(1)
            assert answers(chat) == ["The second one begins, and ends."]
            assert set(line.calls[said:]) <= LISTENING
            assert rows(second, "SELECT status, attempt FROM runs") == [("success", 2)]
            assert rows(second, "SELECT max(attempt), count(*) FROM stream_parts WHERE mode = 'end'") == [(2, 1)]
            assert rows(second, "SELECT count(*) FROM transcript WHERE kind = 'reply'") == [(1,)]
            assert rows(second, "SELECT count(*) FROM deliveries WHERE state = 'sent'") == [(1,)]
    assert await telegram.violations() == []


def _through(settings: dict[str, Any], line: Line) -> dict[str, Any]:
    telegram = {**settings["channels"]["telegram"], "base_url": line.url}
    return {**settings, "channels": {"telegram": telegram}}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_alone_it_recovers_by_itself(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    ending = "and it comes to its end after all."
    await model.script(Text("The answer begins, ", 20), Gate("middle"), Text(ending), match="question")
    await model.script(Text(f"The answer begins anew, {ending}"), match="question", times=3)
    await model.script(Text("I am well."), match="how are you")
    await ana.send("question")
    await telegram.wait_for(ana.id, lambda view: view.drafts and "begins," in view.drafts[0].text, 30)
    program.freeze()
    await asyncio.sleep(STALL_SECONDS)
    program.thaw()
    await asyncio.sleep(1.5)
    await model.release("middle")
    chat = await telegram.wait_for(ana.id, lambda view: any(ending in text for text in answers(view)), 40)
    assert len(answers(chat)) == 1
    await ana.send("how are you")
    await telegram.wait_for(ana.id, lambda view: "I am well." in answers(view), 30)
    assert [status for status, _ in rows(program, "SELECT status, attempt FROM runs")] == ["success", "success"]
    assert (await program.health())[0] == 200
    assert await telegram.violations() == []
