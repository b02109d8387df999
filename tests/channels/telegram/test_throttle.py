"""What the channel may ask of Telegram, and when."""

import asyncio

import pytest

from channels.contract import ChatKind, Pace, RateLimited
from channels.shared.pacing import Urgency
from channels.telegram.throttle import Throttle, pace_of


def refused(seconds: float) -> RateLimited:
    return RateLimited("429", retry_after_seconds=seconds)


async def test_a_few_answers_go_out_at_once_and_a_flood_of_them_at_a_pace_telegram_takes() -> None:
    throttle = Throttle(clock=lambda: 100.0)
    for _ in range(4):
        await throttle.message_turn(7, Urgency.ANSWER)
    with pytest.raises(RateLimited) as caught:
        await throttle.message_turn(7, Urgency.ANSWER)
    assert caught.value.retry_after_seconds == 4


async def test_a_group_has_twenty_requests_a_minute_and_the_next_is_refused_with_its_time() -> None:
    now = 100.0
    throttle = Throttle(clock=lambda: now)
    for _ in range(20):
        await throttle.message_turn(-7, Urgency.ANSWER)
        now += 1
    with pytest.raises(RateLimited) as caught:
        await throttle.message_turn(-7, Urgency.ANSWER)
    assert caught.value.retry_after_seconds == 40


async def test_a_refusal_silences_its_chat_alone() -> None:
    throttle = Throttle(clock=lambda: 100.0)
    throttle.message_refused(7, refused(30))
    with pytest.raises(RateLimited):
        await throttle.message_turn(7, Urgency.ANSWER)
    await throttle.message_turn(8, Urgency.ANSWER)
    assert throttle.draft_delay(7) == 0


async def test_refusals_in_many_chats_at_once_mean_all_of_them() -> None:
    throttle = Throttle(clock=lambda: 100.0)
    for chat in (1, 2, 3):
        throttle.message_refused(chat, refused(30))
    with pytest.raises(RateLimited):
        await throttle.message_turn(99, Urgency.ANSWER)


async def test_refusals_one_after_another_do_not() -> None:
    now = [100.0]
    throttle = Throttle(clock=lambda: now[0])
    for chat in (1, 2, 3):
        throttle.message_refused(chat, refused(30))
        now[0] += 2
    await throttle.message_turn(99, Urgency.ANSWER)


async def test_a_wait_that_is_short_is_waited_for() -> None:
    throttle = Throttle()
    throttle.message_refused(7, refused(0.1))
    async with asyncio.timeout(1):
        await throttle.message_turn(7, Urgency.ANSWER)


async def test_drafts_keep_half_a_second_and_their_own_silence() -> None:
    throttle = Throttle(clock=lambda: 100.0)
    assert throttle.draft_delay(7) == 0
    throttle.draft_shown(7)
    assert throttle.draft_delay(7) == 0.5
    throttle.draft_refused(7, refused(9))
    assert throttle.draft_delay(7) == 9


async def test_a_server_that_allows_more_is_sent_more_but_its_silences_last_as_long() -> None:
    throttle = Throttle(clock=lambda: 100.0, times=2)
    for _ in range(4):
        await throttle.message_turn(7, Urgency.ANSWER)
    with pytest.raises(RateLimited) as caught:
        await throttle.message_turn(7, Urgency.ANSWER)
    assert caught.value.retry_after_seconds == 2
    throttle.message_refused(8, refused(30))
    with pytest.raises(RateLimited) as caught:
        await throttle.message_turn(8, Urgency.ANSWER)
    assert caught.value.retry_after_seconds == 30
    throttle.draft_shown(7)
    assert throttle.draft_delay(7) == 0.5


def test_the_pace_of_a_group_grows_with_it() -> None:
    assert pace_of(ChatKind.GROUP, 1) == Pace(3.0, per_minute=20)
    assert pace_of(ChatKind.GROUP, 2) == Pace(1.5, per_minute=40)
