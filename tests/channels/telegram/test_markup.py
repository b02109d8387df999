"""Trees become text and entities that Telegram takes, with nothing lost."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.contract import TextUnit
from channels.shared.chunking import measure
from channels.telegram.markup import styled
from channels.telegram.styled_text import Styled, chunks, joined, plain, quiet
from tests.simulators.telegram.texts import formatted

_SNIPPETS = st.sampled_from(
    ["# ", "- ", "1. ", "- [ ] ", "> ", "> > ", "```py\n", "```\n", "\n", "\n\n", "**", "*", "_", "~~", "`", "[a](http://x)",
     "[b](mailto:c)", "| a | b |\n|--|--|\n| 1 | 2 |\n", "---\n", "<b>", "    ", "![i](http://y)", "😀", "日本"]
)  # fmt: skip
_DOCUMENTS = st.lists(_SNIPPETS | st.text(string.ascii_letters, min_size=1, max_size=5) | st.just(" "), max_size=40)


@given(_DOCUMENTS.map("".join), st.integers(60, 400))
@settings(max_examples=400, deadline=None)
def test_whatever_is_written_telegram_takes_every_chunk(source: str, limit: int) -> None:
    whole = styled(source)
    parts = chunks(whole, limit)
    for part in parts:
        assert measure(part.text, TextUnit.UTF16) <= limit
        formatted(part.text, None, part.entities(), limit=limit, may_be_empty=False)  # raises what the server refuses
    assert "".join("".join(part.text for part in parts).split()) == "".join(whole.text.split())


def _shown(source: str) -> list[tuple[str, str]]:
    whole = styled(source)
    units = whole.text.encode("utf-16-le")
    return [
        (
            str(entity["type"]),
            units[int(entity["offset"]) * 2 : (int(entity["offset"]) + int(entity["length"])) * 2].decode("utf-16-le"),
        )
        for entity in whole.entities()
    ]


def test_emphasis_leaves_code_alone_for_code_is_part_of_nothing() -> None:
    assert _shown("**a `b` c**") == [("bold", "a "), ("code", "b"), ("bold", " c")]


def test_offsets_are_utf_16_units() -> None:
    assert _shown("👩‍👩‍👧‍👦 **ä😀** `x`") == [("bold", "ä😀"), ("code", "x")]


def test_a_fence_has_its_language_and_a_table_its_columns() -> None:
    whole = styled("```python\nx\n```\n\n| Name | n |\n|:--|--:|\n| 日本 | 10 |")
    assert [(mark.kind, mark.language) for mark in whole.marks] == [("pre", "python"), ("pre", None)]
    assert whole.text.splitlines()[2:] == ["Name |  n", "-----+---", "日本 | 10"]


def test_lists_tasks_and_quotes() -> None:
    source = "1. one\n   - sub\n     - [x] done\n2. two\n\n> quote\n> > nested"
    assert styled(source).text == "1. one\n  ◦ sub\n    ☑ done\n2. two\n\nquote\n\n> nested"
    assert _shown("> quote\n> > nested") == [("blockquote", "quote\n\n> nested")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("[here](mailto:a@b.c)", "here (mailto:a@b.c)"),
        ("[here](/docs/x)", "here (/docs/x)"),
        ("<mailto:a@b.c>", "mailto:a@b.c"),
        ('[here](https://x.y "title")', "here (title)"),
        ("![](https://x.y/z.png)", "https://x.y/z.png"),
        ("[](https://x.y/no-text)", "https://x.y/no-text"),
        ("[](../no-text)", "../no-text"),
        ("<a@b.c>", "a@b.c"),
        ("[![badge](https://x.y/b.svg)](https://x.y)", "badge (https://x.y/b.svg)"),
        ("[somebody](tg://user?id=42)", "somebody (tg://user?id=42)"),
        ("| [a](http://x) [b](http://y) |\n|-|", "a (http://x) b (http://y)\n-------------------------"),
        ("1. | t |\n   |---|\n   | 1 |", "1. \nt\n-\n1"),
    ],
)
def test_no_address_vanishes(source: str, text: str) -> None:
    assert styled(source).text == text


def test_a_code_block_that_is_cut_goes_on_in_the_next_message_with_its_language() -> None:
    code = "\n".join(f"value_{number} = {number}" for number in range(400))
    parts = chunks(styled(f"intro\n\n```python\n{code}\n```"), 4096)
    assert len(parts) == 2
    assert all(part.marks[-1].language == "python" for part in parts)
    assert all(part.marks[-1].end == len(part.text) for part in parts)


def test_code_that_would_be_cut_near_the_end_of_a_message_begins_the_next() -> None:
    code = "\n".join(f"value_{number} = {number}" for number in range(100))
    parts = chunks(styled(f"{'word ' * 700}\n\n```python\n{code}\n```\n\nend"), 4096)
    assert [part.text.split()[0] for part in parts] == ["word", "value_0"]
    assert parts[1].text == f"{code}\n\nend"


def test_no_part_has_more_marks_than_telegram_shows_and_none_is_lost() -> None:
    parts = chunks(styled("**b** `c` [l](http://x) " * 90), 4096)
    assert max(len(part.entities()) for part in parts) < 100
    assert sum(len(part.entities()) for part in parts) == 270
    assert all(part.text.startswith(("b", "c", "l")) for part in parts)


def test_a_quote_of_nothing_but_code_is_around_it() -> None:
    assert [entity["type"] for entity in styled("> ```\n> x\n> ```").entities()] == ["blockquote", "pre"]


def test_of_too_many_entities_emphasis_goes_first() -> None:
    entities = styled("**b** `c` " * 100).entities()
    assert len(entities) == 100
    assert {entity["type"] for entity in entities} == {"code"}


def test_nobody_is_mentioned_and_every_character_stays() -> None:
    source = "**ask @some_body now** `@code` [see @linked](http://x) me@example.org https://x.y/@z\n\n> @quoted"
    whole = quiet(styled(source))
    assert whole.text == styled(source).text
    stored = formatted(whole.text, None, whole.entities(), limit=4096, may_be_empty=False)
    assert {entity["type"] for entity in stored.entities} == {"bold", "code", "text_link", "email", "url", "blockquote"}
    marked = [(mark.kind, whole.text[mark.offset : mark.end]) for mark in whole.marks]
    assert {
        ("bold", "ask "),
        ("code", "@some_body"),
        ("bold", " now"),
        ("code", "@quoted"),
        ("blockquote", "@quoted"),
    } <= {*marked}


def test_a_name_that_a_link_cuts_keeps_the_link() -> None:
    whole = quiet(styled("@some[body](http://x)"))
    assert [mark.kind for mark in whole.marks] == ["text_link"]


def test_joining_moves_the_marks_and_skips_what_is_empty() -> None:
    whole = joined([styled("**a**"), plain(""), styled("**b**")])
    assert whole.text == "a\n\nb"
    assert [(mark.offset, mark.end) for mark in whole.marks] == [(0, 1), (3, 4)]
    assert joined([]) == Styled()
