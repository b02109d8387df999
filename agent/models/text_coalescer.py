"""Joins the text of successive chat completion chunks, so that a fast model costs few objects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Chunk = dict[str, Any]


class TextCoalescer:
    """Holds plain text back for at most `window_seconds`; whatever else comes passes at once and in order.

    The first text after a pause passes at once too. Times are a clock's seconds, given by the caller.
    """

    def __init__(self, window_seconds: float) -> None:
        self._window_seconds = window_seconds
        self._held: Chunk | None = None
        self._texts: list[str] = []
        self._passed_at = -math.inf
        self.due: float | None = None
        """When the text held back must be flushed; None while there is none."""

    def add(self, chunk: Chunk, now: float) -> Sequence[Chunk]:
        """Take a chunk; gives those that pass now."""
        text = plain_text(chunk)
        if text is None:
            return (*self.flush(now), chunk)
        self._hold(chunk, text, now)
        return self.flush(now) if self.due is not None and now >= self.due else ()

    def flush(self, now: float) -> Sequence[Chunk]:
        """Let go of what is held back."""
        if self._held is None:
            return ()
        held, self._held = self._held, None
        held["choices"][0]["delta"]["content"] = "".join(self._texts)
        self._texts = []
        self.due = None
        self._passed_at = now
        return (held,)

    def _hold(self, chunk: Chunk, text: str, now: float) -> None:
        self._held = self._held or chunk
        if text:
            self._texts.append(text)
            self.due = max(now, self._passed_at + self._window_seconds)


def plain_text(chunk: Chunk) -> str | None:
    """Give the text of a chunk that says nothing but text, else None."""
    choices = chunk.get("choices")
    if not choices or len(choices) > 1 or chunk.get("usage"):
        return None
    choice = choices[0]
    delta = choice.get("delta")
    if not isinstance(delta, dict) or choice.get("finish_reason") or choice.get("logprobs"):
        return None
    for key, value in delta.items():
        if value and key not in {"content", "role"}:
            return None
    text = delta.get("content") or ""
    return text if isinstance(text, str) else None
