"""Requests keep their distance, their budget and the silence a platform asks for."""

from channels.contract import Pace
from channels.shared.pacing import Pacer, Urgency


def _pacer(**settings: object) -> Pacer:
    return Pacer(lambda chat: Pace(3.0, per_minute=20) if chat.startswith("-") else Pace(1.0), **settings)


def test_previews_keep_the_interval_and_the_answer_does_not_wait_for_it() -> None:
    pacer = _pacer()
    pacer.spend("7", 100.0)
    assert pacer.delay("7", 100.5, Urgency.PREVIEW) == 0.5
    assert pacer.delay("7", 100.5, Urgency.ANSWER) == 0
    assert pacer.delay("8", 100.5, Urgency.PREVIEW) == 0


def test_the_following_messages_of_one_answer_come_in_a_short_burst_and_then_at_the_pace() -> None:
    pacer, now = _pacer(), 100.0
    waits = []
    for _ in range(8):
        wait = pacer.delay("7", now, Urgency.CONTINUATION)
        waits.append(wait)
        now += wait
        pacer.spend("7", now)
    assert waits[:4] == [0, 0, 0, 0]
    assert now - 100.0 >= 4.0


def test_previews_leave_a_part_of_the_minutes_budget_to_the_answer() -> None:
    pacer, now, previews = _pacer(), 0.0, 0
    while now < 60:
        if pacer.delay("-1", now, Urgency.PREVIEW) == 0:
            pacer.spend("-1", now)
            previews += 1
        now += 1
    assert previews == 16
    assert pacer.delay("-1", 50.0, Urgency.ANSWER) == 0


def test_no_span_of_a_minute_sees_more_than_the_budget() -> None:
    pacer, now, times = _pacer(), 0.0, []
    for _ in range(60):
        now += pacer.delay("-1", now, Urgency.ANSWER)
        pacer.spend("-1", now)
        times.append(now)
    assert all(later - earlier >= 60 for earlier, later in zip(times, times[20:], strict=False))


def test_silence_holds_back_even_the_answer_in_that_chat_or_everywhere() -> None:
    pacer = _pacer()
    pacer.silence("7", 130.0)
    assert pacer.delay("7", 100.0, Urgency.ANSWER) == 30.0
    assert pacer.delay("8", 100.0, Urgency.ANSWER) == 0
    pacer.silence(None, 110.0)
    assert pacer.delay("8", 100.0, Urgency.ANSWER) == 10.0
    assert pacer.delay("8", 110.0, Urgency.ANSWER) == 0


def test_a_shorter_silence_does_not_end_a_longer_one() -> None:
    pacer = _pacer()
    pacer.silence("7", 130.0)
    pacer.silence("7", 105.0)
    assert pacer.delay("7", 100.0, Urgency.ANSWER) == 30.0


def test_all_chats_together_keep_the_overall_limit() -> None:
    pacer = _pacer(overall_per_second=30)
    for chat in range(30):
        assert pacer.delay(str(chat), 100.0, Urgency.ANSWER) == 0
        pacer.spend(str(chat), 100.0)
    assert pacer.delay("31", 100.5, Urgency.ANSWER) == 0.5


def test_the_table_stays_bounded() -> None:
    pacer = _pacer(most_chats=10)
    for chat in range(100):
        pacer.spend(str(chat), float(chat))
    assert len(pacer._chats) == 10
    assert pacer.delay("99", 99.1, Urgency.PREVIEW) > 0
