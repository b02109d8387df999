"""What people think of answers: one opinion each, that may change."""

from dataclasses import replace
from typing import Literal

from bridge import moved_chats
from bridge.dispatch.decision import Effects
from bridge.dispatch.feedback import CHANGED, NO_SUCH_ANSWER, TAKEN_BACK, THANKS
from bridge.persistence import feedback
from channels.contract import ConversationKey
from tests.bridge.dispatch.conftest import Desk
from tests.bridge.people import ANN, BOB, CHAT, message, rated


def verdict(effects: Effects) -> tuple[bool, str]:
    assert effects.press is not None
    return effects.press[1].accepted, effects.press[1].text


async def opinions(desk: Desk, person: str) -> dict[str, int]:
    thread = await desk.thread()
    return dict(await desk.database.read(lambda c: feedback.ratings(c, thread, f"demo:{person}")))


async def answered(desk: Desk) -> str:
    await desk.decide(message("hi"))
    run = await desk.begin()
    await desk.finish(run)
    return run.run_id


async def test_each_person_has_one_opinion_that_a_second_press_changes_and_the_same_takes_back(desk: Desk) -> None:
    run = await answered(desk)
    assert verdict(await desk.decide(rated(run, 1))) == (True, THANKS)
    assert verdict(await desk.decide(rated(run, 1, BOB))) == (True, THANKS)
    assert verdict(await desk.decide(rated(run, -1))) == (True, CHANGED)
    assert (await opinions(desk, ANN.id), await opinions(desk, BOB.id)) == ({run: -1}, {run: 1})
    assert verdict(await desk.decide(rated(run, -1))) == (True, TAKEN_BACK)
    assert verdict(await desk.decide(rated(run, 0, BOB))) == (True, TAKEN_BACK)
    assert (await opinions(desk, ANN.id), await opinions(desk, BOB.id)) == ({}, {})


async def test_a_reaction_holds_however_often_it_is_told_and_changes_what_a_press_said(desk: Desk) -> None:
    run = await answered(desk)
    await desk.decide(rated(run, 1))
    opinions_after: list[tuple[Literal[-1, 0, 1], dict[str, int]]] = [
        (1, {run: 1}), (1, {run: 1}), (-1, {run: -1}), (0, {}), (0, {}),
    ]  # fmt: skip
    for rating, held in opinions_after:
        await desk.decide(rated(run, rating, toggles=False))
        assert await opinions(desk, ANN.id) == held


async def test_an_answer_that_is_not_there_or_of_another_conversation_takes_none(desk: Desk) -> None:
    run = await answered(desk)
    assert verdict(await desk.decide(rated("no-such", 1))) == (False, NO_SUCH_ANSWER)
    elsewhere = ConversationKey("demo", "bot", "another")
    await desk.store(rated(run, 1, conversation=elsewhere))
    effects = await desk.next(elsewhere)
    assert isinstance(effects, Effects)
    assert verdict(effects) == (False, NO_SUCH_ANSWER)
    assert await opinions(desk, ANN.id) == {}


async def test_an_earlier_answer_is_rated_also_after_a_new_conversation_was_begun(desk: Desk) -> None:
    run = await answered(desk)
    await desk.decide(message("/new"))
    assert verdict(await desk.decide(rated(run, 1))) == (True, THANKS)


async def test_an_answer_that_has_moved_with_its_chat_is_rated_where_it_stands_now(desk: Desk) -> None:
    run, moved = await answered(desk), replace(CHAT, chat="grown")
    await desk.database.write(lambda c: moved_chats.move(c, CHAT, moved.chat, now=desk.clock()))
    await desk.store(rated(run, 1, conversation=moved))
    effects = await desk.next(moved)
    assert isinstance(effects, Effects)
    assert verdict(effects) == (True, THANKS)
