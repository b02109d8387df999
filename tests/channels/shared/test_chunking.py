"""Pieces fit, end where it hurts least, and together are the whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.contract import TextUnit
from channels.shared.chunking import measure, split, split_markdown

_UNITS = st.sampled_from(list(TextUnit))
_TEXTS = st.text(alphabet="ab \n\täß日😀👍🏽\u200d👩🇩🇪", max_size=300)
_MARKDOWN = st.lists(
    st.sampled_from(["word ", "```py\n", "```\n", "~~~\n", "code line\n", "\n", "\n\n", "日本語 ", "😀"]), max_size=60
).map("".join)


@given(_TEXTS, st.integers(8, 60), _UNITS)
@settings(max_examples=300, deadline=None)
def test_pieces_fit_and_are_the_whole(text: str, limit: int, unit: TextUnit) -> None:
    pieces = split(text, limit, unit)
    assert "".join(pieces) == text
    assert all(0 < measure(piece, unit) <= limit for piece in pieces)


@given(_MARKDOWN, st.integers(40, 120), _UNITS)
@settings(max_examples=300, deadline=None)
def test_markdown_pieces_fit_and_show_the_same_lines(source: str, limit: int, unit: TextUnit) -> None:
    pieces = split_markdown(source, limit, unit)
    assert all(measure(piece, unit) <= limit for piece in pieces)
    assert _letters("".join(pieces)) == _letters(source)


def _letters(text: str) -> str:
    """What is to be read: everything but fences and white space."""
    lines = (line for line in text.split("\n") if not line.strip().startswith(("```", "~~~")))
    return "".join("".join(lines).split()).replace("```", "").replace("~~~", "").replace("py", "")


def test_units_are_those_of_the_platform() -> None:
    assert [measure("aß日😀", unit) for unit in (TextUnit.CODEPOINTS, TextUnit.UTF16, TextUnit.BYTES)] == [4, 5, 10]
    assert len(split("😀" * 4096, 4096, TextUnit.UTF16)) == 2
    assert len(split("😀" * 4096, 4096, TextUnit.CODEPOINTS)) == 1


def test_paragraphs_are_kept_before_lines_and_lines_before_words() -> None:
    assert split("one two\nthree\n\nfour five six", 20, TextUnit.CODEPOINTS) == ["one two\nthree\n\n", "four five six"]
    assert split("one two three\nfour five six", 20, TextUnit.CODEPOINTS) == ["one two three\n", "four five six"]
    assert split("one two three four five six", 20, TextUnit.CODEPOINTS) == ["one two three four ", "five six"]


@pytest.mark.parametrize("whole", ["👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "e\u0301", "❤️"])
def test_what_people_see_as_one_character_is_not_cut(whole: str) -> None:
    for before in range(12, 20):
        pieces = split("a" * before + whole, 20, TextUnit.UTF16)
        assert any(whole in piece for piece in pieces)


def test_a_fence_is_closed_and_opened_again_with_its_language() -> None:
    code = "".join(f"line {number}\n" for number in range(30))
    pieces = split_markdown(f"intro\n\n```python\n{code}```\nend", 120, TextUnit.CODEPOINTS)
    assert len(pieces) > 2
    for piece in pieces:
        assert piece.count("```") % 2 == 0
    assert all(piece.startswith("```python\n") for piece in pieces[1:-1])
    assert "".join(pieces).count("line 17\n") == 1
