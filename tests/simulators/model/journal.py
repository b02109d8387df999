"""The model server's log: bounded, with the requests as they came and the times of their answers."""

import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

import orjson

_REQUESTS_KEPT = 2_000
_BODIES_KEPT = 300


@dataclass(slots=True)
class LoggedRequest:
    """One call; times are seconds of the machine's monotonic clock."""

    number: int
    prompt: str
    body: bytes | None
    began: float
    first_token: float | None = None
    ended: float | None = None
    outcome: str = "running"

    def view(self) -> dict[str, Any]:
        return {
            "number": self.number, "prompt": self.prompt, "began": self.began, "first_token": self.first_token,
            "ended": self.ended, "outcome": self.outcome,
            "body": orjson.loads(self.body) if self.body is not None else None,
        }  # fmt: skip


class ModelJournal:
    """Requests of late, violations, and how often each prompt was asked."""

    def __init__(self) -> None:
        self.requests: deque[LoggedRequest] = deque(maxlen=_REQUESTS_KEPT)
        self.violations: list[dict[str, Any]] = []
        self.asked: Counter[str] = Counter()
        self._with_bodies: deque[LoggedRequest] = deque()
        self._numbers = 0

    def begin(self, prompt: str, body: bytes) -> LoggedRequest:
        self._numbers += 1
        self.asked[prompt] += 1
        request = LoggedRequest(self._numbers, prompt, body, time.monotonic())
        self.requests.append(request)
        self._with_bodies.append(request)
        if len(self._with_bodies) > _BODIES_KEPT:
            self._with_bodies.popleft().body = None
        return request

    def end(self, request: LoggedRequest, outcome: str) -> None:
        request.ended = time.monotonic()
        request.outcome = outcome
