"""`/usage` says what was told of tokens, and plainly what was not."""

from bridge.dispatch.commands.usage import NOT_TOLD
from bridge.runs.records import ModelUsage
from tests.bridge.dispatch.conftest import Desk
from tests.bridge.people import message


async def turn(desk: Desk, seconds: float, **usage: ModelUsage) -> None:
    await desk.decide(message("hi"))
    run = await desk.begin()
    desk.clock.advance(seconds)
    await desk.finish(run, usage=usage)


async def used(desk: Desk) -> str:
    await desk.decide(message("/usage"))
    return (await desk.answers())[-1]


async def test_the_last_turn_and_the_whole_conversation_are_told_by_model(desk: Desk) -> None:
    await turn(desk, 61.5, fast=ModelUsage(2, 2, 1200, 300), slow=ModelUsage(1, 1, 10, 5))
    await turn(desk, 2.25, fast=ModelUsage(1, 1, 34, 6))
    assert await used(desk) == (
        "**Last turn**\n"
        "- `fast`: 34 tokens in, 6 out (1 call)\n"
        "- run time: 2.2 s\n"
        "\n"
        "**This conversation** (2 turns)\n"
        "- in all: 1,244 tokens in, 311 out (4 calls)\n"
        "- `fast`: 1,234 tokens in, 306 out (3 calls)\n"
        "- `slow`: 10 tokens in, 5 out (1 call)\n"
        "- run time: 1 min 4 s"
    )


async def test_what_a_provider_does_not_tell_is_not_made_up(desk: Desk) -> None:
    assert await used(desk) == "Nothing has been answered here yet."
    await turn(desk, 1, quiet=ModelUsage(2))
    assert f"- `quiet`: {NOT_TOLD} (2 calls)" in await used(desk)
    await turn(desk, 3600, quiet=ModelUsage(1, 1, 7, 2))
    desk.clock.advance(1)
    told = await used(desk)
    assert f"- `quiet`: 7 tokens in, 2 out (3 calls, for 2 of them {NOT_TOLD})" in told
    assert "- run time: 1 h 0 min" in told
