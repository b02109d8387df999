"""Server-sent events, cut at any byte."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models import event_stream
from agent.models.event_stream import EventDecoder, EventTooLarge

STREAM = "data: ein\n\n: comment\n\nevent: x\nid: 4\ndata:zwei\r\ndata: drei ü\r\n\r\n\ndata:  two spaces\n\ndata: end".encode()
EVENTS = [b"ein", "zwei\ndrei ü".encode(), b" two spaces", b"end"]


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_events_are_the_same_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    decoder = EventDecoder()
    edges = [0, *sorted(cuts), len(STREAM)]
    events = [event for start, end in pairwise(edges) for event in decoder.feed(STREAM[start:end])]
    assert events + decoder.finish() == EVENTS


def test_an_event_that_says_nothing_is_none() -> None:
    assert EventDecoder().feed(b"data:\n\ndata: \r\n\r\ndata: one\n\n") == [b"one"]


def test_an_event_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "_LARGEST_EVENT_BYTES", 1000)
    decoder = EventDecoder()
    for _ in range(50):
        assert decoder.feed(b"data: " + b"x" * 500 + b"\n\n")
    decoder.feed(b"data: " + b"x" * 900)
    with pytest.raises(EventTooLarge):
        decoder.feed(b"x" * 200)


def test_an_event_of_endless_lines_does_not_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "_LARGEST_EVENT_BYTES", 1000)
    decoder = EventDecoder()
    for _ in range(100):
        decoder.feed(b"data: 1234\n")
    with pytest.raises(EventTooLarge):
        decoder.feed(b"data: " + b"x" * 600)
