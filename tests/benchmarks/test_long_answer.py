"""The long answer must not pass for whole when it is cut, doubled or out of order."""

import pytest

from benchmarks.long_answer import misfit

ANSWER = "one two three four five six"


@pytest.mark.parametrize(
    ("texts", "is_all", "fits"),
    [
        ([ANSWER], True, True),
        (["one two", "three four ", "five six"], True, True),
        (["one two", "three four"], True, False),
        (["one two", "three four"], False, True),
        (["one two three", "three four five six"], True, False),
        (["three four", "one two", "five six"], True, False),
        ([ANSWER, "six"], True, False),
        (["one tw", "three four five six"], True, False),
        ([], True, False),
        ([], False, False),
    ],
)
def test_messages_are_the_answer_only_whole_once_and_in_order(texts: list[str], *, is_all: bool, fits: bool) -> None:
    assert (misfit(ANSWER, texts, is_all=is_all) is None) is fits
