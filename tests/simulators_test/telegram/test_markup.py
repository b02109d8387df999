"""Both parse modes are read as strictly as the real server reads them."""

import pytest

from tests.simulators.telegram.html_text import parse_html
from tests.simulators.telegram.markdown_text import parse_markdown
from tests.simulators.telegram.utf16 import FormattedText, ParseError, utf16_length


def shown(formatted: FormattedText) -> tuple[str, list[tuple]]:
    """The text with each entity's kind and the part it covers, sorted."""
    units = formatted.text.encode("utf-16-le")
    covered = []
    for entity in formatted.entities:
        begin, length = entity["offset"] * 2, entity["length"] * 2
        extra = [entity[name] for name in ("url", "language", "custom_emoji_id") if name in entity]
        covered.append((entity["type"], units[begin : begin + length].decode("utf-16-le"), *extra))
    return formatted.text, sorted(covered)


@pytest.mark.parametrize(
    ("source", "text", "entities"),
    [
        ("plain > &amp; &lt;b&gt; &#128512; &copy;", "plain > & <b> 😀 &copy;", []),
        ("<b>bold <i>both</i></b>", "bold both", [("bold", "bold both"), ("italic", "both")]),
        ("😀<strong>b</strong><EM>i</EM>", "😀bi", [("bold", "b"), ("italic", "i")]),
        ('<a href="https://x.org/?a=1&amp;b=2">x</a>', "x", [("text_link", "x", "https://x.org/?a=1&b=2")]),
        ('<pre><code class="language-python">x = 1</code></pre>', "x = 1", [("pre", "x = 1", "python")]),
        ("<pre>x</pre><code>y</code>", "xy", [("code", "y"), ("pre", "x")]),
        ("<blockquote expandable>q</blockquote>", "q", [("expandable_blockquote", "q")]),
        ('<span class="tg-spoiler">s</span><u></u>', "s", [("spoiler", "s")]),
        ('<tg-emoji emoji-id="5">😀</tg-emoji>', "😀", [("custom_emoji", "😀", "5")]),
    ],
)
def test_html_is_parsed(source: str, text: str, entities: list):
    assert shown(parse_html(source)) == (text, entities)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("a < b", "Unsupported start tag at byte offset 2"),
        ("é<p>x</p>", 'Unsupported start tag "p" at byte offset 2'),
        ("<span>x</span>", 'Unsupported start tag "span"'),
        ("<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
        ("<b><i>x</b></i>", 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'),
        ("x</b>", "Unexpected end tag at byte offset 1"),
        ("<a>x</a>", 'Unsupported start tag "a"'),
    ],
)
def test_html_outside_the_subset_is_refused(source: str, problem: str):
    with pytest.raises(ParseError) as refused:
        parse_html(source)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("source", "text", "entities"),
    [
        (r"1\. one \*star\* \\", r"1. one *star* \ ".strip(), []),
        ("*b _i_*", "b i", [("bold", "b i"), ("italic", "i")]),
        ("__u__ ~s~ ||p||", "u s p", [("spoiler", "p"), ("strikethrough", "s"), ("underline", "u")]),
        ("`a*b` `\\``", "a*b `", [("code", "`"), ("code", "a*b")]),
        ("```python\nx = [1]\n```", "x = [1]\n", [("pre", "x = [1]\n", "python")]),
        ("```\nx```", "x", [("pre", "x")]),
        (r"[a\.b](https://x.org/\)_y)", "a.b", [("text_link", "a.b", "https://x.org/)_y")]),
        ("![😀](tg://emoji?id=7)", "😀", [("custom_emoji", "😀", "7")]),
        (">one\n>two\nthree", "one\ntwo\nthree", [("blockquote", "one\ntwo\n")]),
        ("**>one\n>two||", "one\ntwo", [("expandable_blockquote", "one\ntwo")]),
        (">one||", "one", [("expandable_blockquote", "one")]),
    ],
)
def test_markdown_is_parsed(source: str, text: str, entities: list):
    assert shown(parse_markdown(source)) == (text, entities)


@pytest.mark.parametrize("character", "_*[]()~`>#+-=|{}.!")
def test_every_reserved_character_must_be_escaped(character: str):
    assert parse_markdown(f"a\\{character}b").text == f"a{character}b"
    with pytest.raises(ParseError):
        parse_markdown(f"a{character}b")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("é*b", "Can't find end of Bold entity at byte offset 2"),
        ("*a _b* c_", "Can't find end of Italic entity at byte offset 3"),
        ("`x", "Can't find end of Code entity at byte offset 0"),
        ("```x", "Can't find end of Pre entity at byte offset 0"),
        ("[x", "Can't find end of Textlink entity"),
        ("[x] y", "Character ']' is reserved"),
    ],
)
def test_unfinished_markdown_is_refused(source: str, problem: str):
    with pytest.raises(ParseError) as refused:
        parse_markdown(source)
    assert problem in str(refused.value)


def test_lengths_are_utf16_code_units():
    assert [utf16_length(text) for text in ("", "abc", "é", "日本", "😀", "👨‍👩‍👧")] == [0, 3, 1, 2, 2, 8]
