"""A slow stream is read less often, a fast one at once, and no pause is long."""

import pytest

from agent.models.reading_pace import ReadingPace


def test_the_first_text_and_a_read_that_brought_nothing_are_followed_by_no_pause() -> None:
    pace = ReadingPace(longest_seconds=0.05)
    assert pace.pause_after(1, now=10.0) == 0
    assert pace.pause_after(0, now=11.0) == 0


def test_a_pause_is_as_long_as_two_chunks_take() -> None:
    pace = ReadingPace(longest_seconds=0.05)
    pace.pause_after(1, now=10.0)
    assert pace.pause_after(1, now=10.02) == pytest.approx(0.04)
    assert pace.pause_after(3, now=10.08) == pytest.approx(0.04)


@pytest.mark.parametrize(("gap_seconds", "pause_seconds"), [(5.0, 0.05), (0.0005, 0.0)])
def test_no_pause_is_longer_than_the_longest_and_none_is_made_where_it_is_not_worth_it(
    gap_seconds: float, pause_seconds: float
) -> None:
    pace = ReadingPace(longest_seconds=0.05)
    pace.pause_after(1, now=10.0)
    assert pace.pause_after(1, now=10.0 + gap_seconds) == pause_seconds
