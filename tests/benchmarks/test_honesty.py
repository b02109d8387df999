"""The bench must not call a program fast that loses, cuts or doubles replies."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from benchmarks.load import Load, ReplyLost, crowd
from benchmarks.measure import measure_start
from benchmarks.surroundings import Surroundings, surroundings
from benchmarks.targets import BARE_FLOOR
from tests.simulators.model import Text

pytestmark = pytest.mark.e2e
QUICK = Load(chats=2, turns=2, tokens=20, reply_seconds=3)


@pytest.fixture
async def around(tmp_path: Path) -> AsyncIterator[Surroundings]:
    async with surroundings(tmp_path) as simulators:
        running = await BARE_FLOOR.start(simulators)
        yield simulators
        await running.child.stop()


async def test_a_program_that_answers_everything_passes(around: Surroundings) -> None:
    async with crowd(around, 2) as people:
        turns = await people.run(QUICK)
    assert len(turns) == 4
    assert all(turn.received < turn.first_text <= turn.replied for turn in turns)


async def test_a_lost_reply_fails_the_bench(around: Surroundings) -> None:
    await around.telegram.fault("error", "editMessageText", status=502, count=1000)
    with pytest.raises(ReplyLost, match="no whole reply"):
        await talk(around)


async def test_a_reply_that_lacks_its_end_fails_the_bench(around: Surroundings) -> None:
    await around.model.script(Text("turn-1 the bridge"), match="id=turn-1 ")
    with pytest.raises(ReplyLost, match="no whole reply"):
        await talk(around)


async def test_a_reply_shown_twice_fails_the_bench(around: Surroundings) -> None:
    async def repeat() -> None:
        shown = (await around.telegram.calls("editMessageText"))[-1]["parameters"]
        url = f"{around.telegram.base_url}/bot{around.telegram.token}/sendMessage"
        await post(url, {"chat_id": shown["chat_id"], "text": shown["text"]}, {})

    with pytest.raises(ReplyLost, match="once and in order"):
        await talk(around, repeat)


async def test_a_question_asked_of_the_model_twice_fails_the_bench(around: Surroundings) -> None:
    async def repeat() -> None:
        prompt = next(iter(await around.model.asked()))
        body = {"model": "fake", "messages": [{"role": "user", "content": prompt}]}
        headers = {"Authorization": f"Bearer {around.model.api_key}"}
        await post(f"{around.model.base_url}/chat/completions", body, headers)

    with pytest.raises(ReplyLost, match="reached the model"):
        await talk(around, repeat)


async def talk(around: Surroundings, afterwards: Callable[[], Awaitable[None]] | None = None) -> None:
    async with crowd(around, QUICK.chats) as people:
        await people.run(QUICK)
        if afterwards:
            await afterwards()


async def post(url: str, body: dict[str, object], headers: dict[str, str]) -> None:
    async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as reply:
        assert reply.ok


@pytest.mark.timeout(300)
async def test_start_and_memory_are_measured(tmp_path: Path) -> None:
    figures = await measure_start(BARE_FLOOR, tmp_path)
    assert 0 < figures["start to ready, s"] < figures["start to first reply, s"]
    assert 20 < figures["idle memory, MiB"] < 300
