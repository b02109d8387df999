import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.web.markup import to_html
from channels.web.render import FileLinks

LINKS = FileLinks("b" * 32)


def test_the_usual_markdown_becomes_the_usual_html() -> None:
    html = to_html("# Title\n\n**bold** *it* ~~gone~~ `code`\n\n> quote\n\n3. three\n4. four\n")
    for piece in ("<h1>Title</h1>", "<strong>bold</strong>", "<s>gone</s>", "<code>code</code>", '<ol start="3">'):
        assert piece in html


def test_a_table_keeps_its_alignment_as_classes() -> None:
    html = to_html("| a | b |\n|:-|-:|\n| 1 | 2 |\n")
    assert '<td class="align-right">2</td>' in html
    assert "style" not in html


def test_a_task_list_has_boxes_that_cannot_be_pressed() -> None:
    html = to_html("- [x] done\n- [ ] open\n")
    assert len(re.findall(r"<input[^>]* disabled=", html)) == 2
    assert len(re.findall(r"<input[^>]*checked=", html)) == 1


def test_a_code_block_keeps_its_language_and_its_text() -> None:
    assert to_html("```python\nprint('<b>')\n```") == (
        "<pre><code class=\"language-python\">print('&lt;b&gt;')\n</code></pre>\n"
    )


def test_a_formula_stands_as_it_was_written() -> None:
    assert (
        to_html("so $a*b*c$ and\n\n$$\n- x_1 < y\n$$\n")
        == "<p>so $a*b*c$ and</p>\n<p>$$<br>\n- x_1 &lt; y<br>\n$$</p>\n"
    )


def test_a_list_as_deep_as_people_write_is_shown_to_its_end() -> None:
    """Symptom: of a list with more than nine levels the rest was gone."""
    assert "level 19" in to_html("".join(f"{'  ' * depth}- level {depth}\n" for depth in range(20)))


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "<a href='javascript:alert(1)'>x</a>",
        "![x](javascript:alert(1))",
        '```"onload=alert(1)\nx\n```',
        "[x](//evil.example/x)",
        "<style>*{display:none}</style>",
        '<https://e.example/"onmouseover=alert(1)>',
    ],
)
def test_nothing_hostile_becomes_active(hostile: str) -> None:
    html = to_html(hostile, LINKS)
    tags = " ".join(re.findall(r"<[^>]*>", html)).lower()
    assert not re.search(r"<(script|img|style|iframe|svg)|javascript:|data:|\son\w+=|href=\"//", tags)


def test_a_link_opens_beside_the_page_and_learns_nothing_of_it() -> None:
    html = to_html("[x](https://example.org/)")
    assert 'href="https://example.org/"' in html
    assert 'target="_blank"' in html
    assert "noopener" in html


def test_a_path_of_the_thread_becomes_a_link_to_its_file() -> None:
    html = to_html("[report](/mnt/user-data/outputs/a%20b.md)", LINKS)
    assert f'href="web/api/conversations/{"b" * 32}/files?path=%2Fmnt%2Fuser-data%2Foutputs%2Fa+b.md"' in html


def test_a_picture_is_a_link_so_that_nothing_is_loaded_from_outside() -> None:
    html = to_html("![chart](https://example.org/x.png?secret=1)")
    assert "<img" not in html
    assert '<a href="https://example.org/x.png?secret=1"' in html


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("[here](../other.md)", "here (../other.md)"),
        ("[call](tel:+41445550100)", "call (tel:+41445550100)"),
        ("[report](/mnt/user-data/outputs/a.md)", "report (/mnt/user-data/outputs/a.md)"),
        ("[](../x)", "../x"),
        ("<tel:+1>", "tel:+1"),
        ("[x](https://e.org 'title')", "x (title)"),
        ("[![badge](https://e.org/b.svg)](https://e.org)", "badge (https://e.org/b.svg)"),
    ],
)
def test_an_address_that_a_browser_does_not_follow_is_said(source: str, text: str) -> None:
    assert re.sub(r"<[^>]*>", "", to_html(source)).strip() == text


def test_tight_and_loose_lists_of_tasks() -> None:
    assert "<p>" not in to_html("- [x] a\n- [ ] b\n")
    assert to_html("- a\n\n- b\n").count("<p>") == 2
    assert to_html("- [x] a\n").startswith('<ul class="contains-task-list">\n<li class="task-list-item"><input')


@given(st.text(alphabet=st.sampled_from("<>\"'`[]()!*_~|#-\n &;:/ajsx"), max_size=120))
def test_whatever_is_written_only_allowed_tags_come_out(text: str) -> None:
    names = {name.lower() for name in re.findall(r"</?([a-zA-Z0-9]+)", to_html(text))}
    allowed = "p br hr h1 h2 h3 h4 h5 h6 blockquote pre code em strong s a ul ol li table thead tbody tr th td input"
    assert names <= set(allowed.split())
