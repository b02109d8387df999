"""Formulas stand as they were written; prices and escaped brackets are none."""

import pytest

from channels.shared.markdown import Break, Emphasis, ListBlock, Paragraph, TextRun, plain_text
from channels.shared.markdown_parser import parse


@pytest.mark.parametrize(
    "formula",
    [
        r"$a*b*c$",
        r"$x_{i}^*y^*$",
        r"\(a_1 * b_2 * c\)",
        r"\[ \frac{a_b}{c_d} \]",
        "$$E = *m* c^2$$",
        r"$\alpha\_\beta$",
    ],
)
def test_a_formula_in_a_line_is_kept_sign_by_sign(formula: str) -> None:
    (paragraph,) = parse(f"Here is {formula}, and *this* is stressed.")
    assert isinstance(paragraph, Paragraph)
    assert plain_text(paragraph.children) == f"Here is {formula}, and this is stressed."
    assert any(isinstance(inline, Emphasis) for inline in paragraph.children)


def test_a_formula_of_several_lines_is_neither_list_nor_heading() -> None:
    source = "Text\n\\[\n- a_1 * b\n===\n+ c\n\\]\nmore"
    before, formula, after = parse(source)
    assert isinstance(formula, Paragraph)
    assert plain_text(formula.children) == "\\[\n- a_1 * b\n===\n+ c\n\\]"
    assert {type(inline) for inline in formula.children} == {TextRun, Break}
    assert (before, after) == (Paragraph((TextRun("Text"),)), Paragraph((TextRun("more"),)))


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("It costs $5 *or* $6.", "It costs $5 or $6."),
        (r"\[not a link\](x)", "[not a link](x)"),
        (r"\[brackets\] and \*stars\*", "[brackets] and *stars*"),
        ("US$3 *and* US$4", "US$3 and US$4"),
        ("`$a` *b* `c$`", "$a b c$"),
        ("$open *and* never closed", "$open and never closed"),
    ],
)
def test_what_only_looks_like_one_is_read_as_ever(source: str, shown: str) -> None:
    (paragraph,) = parse(source)
    assert isinstance(paragraph, Paragraph)
    assert plain_text(paragraph.children) == shown


def test_one_that_is_not_closed_yet_is_text_and_its_lines_what_they_are() -> None:
    opening, items = parse("$$\n- a\n- b")
    assert opening == Paragraph((TextRun("$$"),))
    assert isinstance(items, ListBlock)
