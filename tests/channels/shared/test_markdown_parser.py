"""The tree holds everything that was written."""

import string
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.shared.markdown import (
    Code,
    Fence,
    Heading,
    Image,
    Link,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    Strike,
    Strong,
    Table,
    TextRun,
    plain_text,
)
from channels.shared.markdown_parser import parse, parse_section, sections

_SNIPPETS = st.sampled_from(
    ["# ", "## ", "- ", "1. ", "> ", "```\n", "```py\n", "~~~\n", "\n", "\n\n", "**", "*", "_", "~~", "`", "[", "](", ")",
     "![", "| ", "|", "|--|--|\n", "---\n", "<b>", "</b>", "<!-- ", "&amp;", "\\", "    ", "[1]: http://x\n", "[x] "]
)  # fmt: skip
_WORDS = st.text(alphabet=string.ascii_lowercase + "äß日👍🏽", min_size=1, max_size=6)
_DOCUMENTS = st.lists(_SNIPPETS | _WORDS | st.just(" "), max_size=40).map("".join)


def _words_in(node: object) -> str:
    """Everything readable anywhere in the tree, URLs included."""
    if isinstance(node, str):
        return node
    if isinstance(node, tuple):
        return " ".join(map(_words_in, node))
    if hasattr(node, "__dataclass_fields__"):
        return " ".join(_words_in(getattr(node, name)) for name in node.__dataclass_fields__)
    return ""


@given(_DOCUMENTS)
@settings(max_examples=300, deadline=None)
def test_no_letter_is_lost_whatever_is_written(source: str) -> None:
    written = Counter(letter for letter in source if letter in string.ascii_lowercase or letter > "\u2fff")
    lost = written - Counter(_words_in(parse(source)))
    assert not set(lost) - set("amp"), source  # `&amp;` is read as `&`


def test_blocks_of_every_kind() -> None:
    blocks = parse("# T\n\npara\n\n> q\n\n```py\nx = 1\n```\n\n---\n\n| a | b |\n|:-|-:|\n| 1 | 2 |\n")
    assert [type(block) for block in blocks] == [Heading, Paragraph, Quote, Fence, Rule, Table]
    assert blocks[3] == Fence("x = 1", "py")
    assert blocks[5] == Table(
        ((TextRun("a"),), (TextRun("b"),)), (((TextRun("1"),), (TextRun("2"),)),), ("left", "right")
    )


def test_lists_nest_and_know_their_tasks_and_numbers() -> None:
    (outer,) = parse("3. one\n   - [x] done\n   - [ ] open\n4. two\n")
    assert isinstance(outer, ListBlock)
    assert (outer.start, outer.delimiter) == (3, ".")
    inner = outer.items[0].children[1]
    assert isinstance(inner, ListBlock)
    assert [item.checked for item in inner.items] == [True, False]
    assert outer.items[1] == ListItem((Paragraph((TextRun("two"),)),))


def test_inline_marks_nest() -> None:
    (paragraph,) = parse("**a `b`** ~~c~~ [*d*](http://e/_f_ 'g') ![h](i)")
    assert isinstance(paragraph, Paragraph)
    assert paragraph.children[0] == Strong((TextRun("a "), Code("b")))
    assert paragraph.children[2] == Strike((TextRun("c"),))
    link = paragraph.children[4]
    assert isinstance(link, Link)
    assert (link.url, link.title, plain_text(link.children)) == ("http://e/_f_", "g", "d")
    assert paragraph.children[6] == Image("i", "h")


@pytest.mark.parametrize(
    ("source", "must_show"),
    [
        ("<div>\n<b>x</b>\n</div>", ["<div>", "<b>x</b>", "</div>"]),
        ("<!-- hidden -->", ["<!-- hidden -->"]),
        ("<script>alert(1)</script>", ["<script>alert(1)</script>"]),
        ("```js\nlet a = 1;", ["let a = 1;"]),
        ("text\n\n[1]: http://unused.example 'title'", ["[1]: http://unused.example 'title'"]),
        ("[a]: http://one\n[a]: http://two\n\n[a]", ["http://one", "http://two"]),
        ("| a |\n|---|\n| b | surplus |", ["surplus"]),
        ("> | a |\n> |---|\n> | b | surplus |", ["surplus"]),
        ("```python title=main.py\nx\n```", ["title=main.py", "python", "x"]),
        (">" * 300 + " deep", ["deep"]),
        ("- " * 200 + "deep", ["deep"]),
        ("**" * 2000 + "a" + "**" * 2000, ["a"]),
        ("[" * 2000, ["[[["]),
        ("[bad](javascript:alert(1))", ["javascript:alert(1)"]),
        ("a &copy; \\* b", ["a © * b"]),
        ("$$\\frac{a_1}{b^2}$$", ["frac{a_1}{b^2}"]),
    ],
)
def test_what_other_parsers_drop_is_still_there(source: str, must_show: list[str]) -> None:
    shown = _words_in(parse(source))
    for text in must_show:
        assert text in shown


def test_definitions_that_are_used_are_links_and_nothing_else() -> None:
    (paragraph,) = parse("see [this][1]\n\n[1]: http://used.example")
    assert isinstance(paragraph, Paragraph)
    assert paragraph.children[1] == Link("http://used.example", (TextRun("this"),))


_FILLERS = st.sampled_from(
    [
        "Plain text. " * 50,
        "# Head\n\n" + "word " * 120,
        "```\ncode\n\n" + "word of code " * 60 + "\n\nmore code\n```",
        "~~~~py\n```\n\n" + "word of code " * 60 + "\n~~~~",
        "- ```\n  in a list\n  ```",
        "- ```\n  in a list",
        "> ```\n> quoted",
        "```inline```",
        "1. one\n\n   two",
    ]
)


@given(_DOCUMENTS, st.lists(_FILLERS, max_size=5))
@settings(max_examples=400, deadline=None)
def test_reading_section_by_section_gives_the_same_tree(document: str, fillers: list[str]) -> None:
    source = "\n\n".join([document, *fillers, document])
    assert "".join(sections(source)) == source
    assert parse(source) == parse_section(source)


def test_of_a_growing_text_only_the_last_section_is_read_anew() -> None:
    paragraphs = [f"Paragraph {number} of the answer. " * 20 for number in range(20)]
    before, after = "\n\n".join(paragraphs), "\n\n".join([*paragraphs, "and more"])
    assert len(sections(before)) > 10
    parse(before)
    misses = parse_section.cache_info().misses
    parse(after)
    assert parse_section.cache_info().misses - misses <= 2


def test_a_fence_keeps_its_empty_lines() -> None:
    code = "\n\n".join(["word = 1" * 40] * 10)
    source = f"intro\n\n```py\n{code}\n```\n\nend"
    assert parse(source)[1] == Fence(code, "py")
