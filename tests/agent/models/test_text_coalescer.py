"""Text is joined, order is kept, nothing else waits."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.models.text_coalescer import TextCoalescer, plain_text


def says(text: str | None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text, **delta}, "finish_reason": None}]}


def text_of(chunk: dict[str, Any]) -> str:
    return chunk["choices"][0]["delta"].get("content") or ""


def test_the_first_text_passes_at_once_and_the_next_within_the_window() -> None:
    coalescer = TextCoalescer(0.05)
    assert [text_of(c) for c in coalescer.add(says("a"), now=10.0)] == ["a"]
    assert list(coalescer.add(says("b"), now=10.01)) == []
    assert list(coalescer.add(says("c"), now=10.02)) == []
    assert coalescer.due == 10.05
    assert [text_of(c) for c in coalescer.flush(now=10.05)] == ["bc"]
    assert coalescer.due is None


def test_text_after_a_pause_passes_at_once() -> None:
    coalescer = TextCoalescer(0.05)
    assert list(coalescer.add(says("a"), now=10.0))
    assert [text_of(c) for c in coalescer.add(says("b"), now=10.2)] == ["b"]


def test_an_empty_beginning_does_not_start_the_window() -> None:
    coalescer = TextCoalescer(0.05)
    assert list(coalescer.add(says("", role="assistant"), now=10.0)) == []
    assert coalescer.due is None
    [first] = coalescer.add(says("a"), now=10.01)
    assert first["choices"][0]["delta"] == {"content": "a", "role": "assistant"}


def test_a_window_of_nothing_joins_nothing() -> None:
    coalescer = TextCoalescer(0)
    assert [text_of(c) for word in "abc" for c in coalescer.add(says(word), now=1.0)] == ["a", "b", "c"]


@given(st.lists(st.tuples(st.sampled_from(["text", "call", "reasoning"]), st.floats(0, 0.1)), max_size=30))
def test_order_is_kept_and_nothing_is_lost(steps: list[tuple[str, float]]) -> None:
    coalescer, now, given_, got = TextCoalescer(0.05), 100.0, "", ""
    chunks = []
    for number, (kind, pause) in enumerate(steps):
        now += pause
        made = says(f"<{number}>") if kind == "text" else says(None, **{f"{kind}_x": [number]})
        given_ += f"<{number}>" if kind == "text" else f"[{number}]"
        chunks += coalescer.add(made, now)
    for chunk in [*chunks, *coalescer.flush(now)]:
        delta = chunk["choices"][0]["delta"]
        got += text_of(chunk) + "".join(f"[{v[0]}]" for k, v in delta.items() if k.endswith("_x"))
    assert got == given_


def test_only_text_is_plain() -> None:
    assert plain_text(says("a")) == "a"
    assert plain_text(says(None)) == ""
    assert plain_text(says("a", tool_calls=None, refusal=None)) == "a"
    assert plain_text(says("a", tool_calls=[{"index": 0}])) is None
    assert plain_text(says("a", reasoning_content="b")) is None
    assert plain_text({"choices": []}) is None
    assert plain_text({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}) is None
    assert plain_text({"choices": [{"delta": {"content": "a"}}], "usage": {"total_tokens": 1}}) is None
    assert plain_text({"choices": [{"delta": {"content": "a"}, "logprobs": {"content": []}}]}) is None
    assert plain_text({"choices": [{"delta": {"content": ["a"]}}]}) is None
    assert plain_text({"choices": [{"delta": None}]}) is None
