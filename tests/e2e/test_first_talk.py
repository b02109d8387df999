"""The main job, through the real program and the real Telegram SDK."""

import pytest

from tests.e2e.program import Program
from tests.simulators.model.client import ModelSimulator
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = pytest.mark.e2e


async def test_a_private_message_is_answered(
    program: Program, telegram: TelegramSimulator, model: ModelSimulator
) -> None:
    ana = await telegram.person()
    await ana.send("[bench id=one n=60 tps=100 ttft=0 tool=none] hello")
    chat = await telegram.wait_for(ana.id, lambda view: any("END" in m.text for m in view.messages), 20)
    answer = chat.messages[-1]
    assert answer.text.startswith("one ")
    assert await telegram.violations() == []
    assert await model.violations() == []
    assert (await program.health())[0] == 200
