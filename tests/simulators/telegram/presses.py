"""Callback queries: presses of inline buttons and the bot's answers to them."""

import itertools
from dataclasses import dataclass, field
from typing import Any

from .errors import bad_request

_ANSWER_SECONDS = 15
_KEPT = 10_000


@dataclass(slots=True)
class CallbackQuery:
    """One press; `answers` holds what the person was shown."""

    id: str
    pressed_at: float
    answers: list[dict[str, Any]] = field(default_factory=list)


class Presses:
    """The presses of late, by their id."""

    def __init__(self) -> None:
        self._ids = itertools.count(43_000_000_001)
        self._queries: dict[str, CallbackQuery] = {}

    def press(self, now: float) -> CallbackQuery:
        query = CallbackQuery(str(next(self._ids)), now)
        self._queries[query.id] = query
        if len(self._queries) > _KEPT:
            del self._queries[next(iter(self._queries))]
        return query

    def get(self, query_id: str) -> CallbackQuery | None:
        return self._queries.get(query_id)

    def answer(self, query_id: str, shown: dict[str, Any], now: float) -> None:
        """Show an answer; raises `Refused` 15 simulated seconds after the press."""
        query = self._queries.get(query_id)
        if query is None or now - query.pressed_at > _ANSWER_SECONDS:
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        query.answers.append({**shown, "after": now - query.pressed_at})
