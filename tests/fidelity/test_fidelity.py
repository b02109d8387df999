"""What the agent writes is what people see: the corpus on every platform, finished and half-finished, and whatever else is written."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fidelity.losses import compare, losses_of_characters
from tests.fidelity.renderers import RENDERERS
from tests.fidelity.shown import Message, Span

ANSWERS = {path.stem: path.read_bytes().decode() for path in sorted((Path(__file__).parent / "answers").glob("*.md"))}
_SHORT = 4_000  # characters; of what is longer fewer beginnings are looked at
_LINES = sorted(
    {
        re.sub(r"(`{3,}|~{3,})[^`]*$", r"\1", line)  # the language of a block without code would be missed
        for text in ANSWERS.values()
        if len(text) < _SHORT
        for line in text.split("\n")
        if line.count("`") % 2 == 0 or line.lstrip(" >").startswith("```")  # half a code span would join lines
    }
)
_platforms = pytest.mark.parametrize("platform", RENDERERS)


def test_the_corpus_is_large_and_has_long_answers() -> None:
    assert len(ANSWERS) >= 60
    assert sum(len(text) > 30_000 for text in ANSWERS.values()) >= 2


@_platforms
@pytest.mark.parametrize("answer", ANSWERS)
def test_nothing_of_an_answer_is_lost(platform: str, answer: str) -> None:
    findings = compare(ANSWERS[answer], RENDERERS[platform])
    assert findings.lost == []
    assert findings.looked_for > 0


@_platforms
@pytest.mark.parametrize("answer", ANSWERS)
def test_every_beginning_of_an_answer_is_shown_as_it_grows(platform: str, answer: str) -> None:
    text = ANSWERS[answer]
    looks = 12 if len(text) < _SHORT else 3
    for end in range(1, len(text), max(1, len(text) // looks)):
        assert losses_of_characters(text[:end], RENDERERS[platform]) == [], text[max(0, end - 60) : end]


@_platforms
@given(st.lists(st.sampled_from(_LINES), max_size=12).map("\n".join), st.data())
@settings(max_examples=100, deadline=None)
def test_lines_of_the_corpus_in_any_order_lose_nothing(platform: str, text: str, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(text)))
    assert losses_of_characters(text[:end], RENDERERS[platform]) == []


_SAMPLE = (
    "# Head\n\nSome **bold**, *soft*, ~~gone~~, `code` and [a link](https://example.org/x).\n\n> quoted\n\n"
    "```py\nx = 1  # one\n```\n\n2. two\n3. three\n\n- [x] done\n\n| a | b |\n|---|---|\n| c | d |\n"
)


def _without_span(kind: str) -> object:
    return lambda message: replace(message, spans=[span for span in message.spans if span.kind != kind])


def _edited(old: str, new: str) -> object:
    def edit(message: Message) -> Message:
        at = message.text.index(old)
        shift = len(new) - len(old)
        moved = [
            replace(span, start=span.start + shift * (span.start > at), end=span.end + shift * (span.end > at))
            for span in message.spans
        ]
        return Message(message.text.replace(old, new, 1), moved)

    return edit


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_edited("Some", "Sme"), "characters"),
        (_edited("gone", "gone gone"), "characters"),
        (_edited(", code", " code"), "text ','"),
        (_edited("x = 1  #", "x = 1 #"), "code 'x = 1"),
        (_edited("2. two", "5. two"), "number 2"),
        (_edited("☑", "☐"), "task boxes"),
        (_edited("a | b", "a\nb"), "row 0"),
        (_without_span("strong"), "strong of 'bold'"),
        (_without_span("em"), "em of 'soft'"),
        (_without_span("del"), "del of 'gone'"),
        (_without_span("code"), "code of 'code'"),
        (_without_span("a"), "address 'https://example.org/x'"),
        (_without_span("blockquote"), "blockquote of 'quoted'"),
        (_without_span("pre"), "code 'x = 1"),
    ],
)
def test_whatever_is_taken_away_is_missed(harm, said: str) -> None:
    telegram = RENDERERS["telegram"]

    def harmed(markdown: str) -> Sequence[Message]:
        return [harm(message) for message in telegram.show(markdown)]

    assert compare(_SAMPLE, telegram).lost == []
    assert any(said in lost for lost in compare(_SAMPLE, replace(telegram, show=harmed)).lost)


def test_a_mark_that_is_cut_in_two_messages_still_covers_its_text() -> None:
    cut = [Message("bo", [Span("strong", 0, 2)]), Message("ld", [Span("strong", 0, 2)])]
    assert compare("**bold**", replace(RENDERERS["telegram"], show=lambda _: cut)).lost == []
