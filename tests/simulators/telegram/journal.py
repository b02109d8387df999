"""What happened: every call with its outcome, every rule broken, every effect people could see."""

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .parameters import Call

_CALLS_KEPT = 100_000
_EFFECTS_KEPT = 200_000


@dataclass(slots=True)
class LoggedCall:
    """A call of the Bot API; times are seconds of the machine's monotonic clock."""

    number: int
    method: str
    parameters: Mapping[str, Any]
    files: list[dict[str, Any]]
    began: float
    ended: float | None = None
    outcome: str = "running"
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule of the platform that the program under test broke."""

    method: str
    rule: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that became visible in a chat, or that a person did there."""

    number: int
    at: float
    kind: str
    chat_id: int
    data: Mapping[str, Any]


class Journal:
    """Bounded logs, and the signal that there is more to read."""

    def __init__(self) -> None:
        self.calls: deque[LoggedCall] = deque(maxlen=_CALLS_KEPT)
        self.violations: list[Violation] = []
        self._effects: deque[Effect] = deque(maxlen=_EFFECTS_KEPT)
        self._numbers = 0
        self._effect_numbers = 0
        self._changed = asyncio.Event()

    def begin(self, call: Call) -> LoggedCall:
        self._numbers += 1
        files = [{"field": name, "name": file.name, "size": len(file.content)} for name, file in call.files.items()]
        logged = LoggedCall(self._numbers, call.method, dict(call.parameters), files, time.monotonic())
        self.calls.append(logged)
        return logged

    def end(self, logged: LoggedCall, outcome: str) -> None:
        logged.ended = time.monotonic()
        logged.outcome = outcome

    def violation(self, method: str, rule: str, parameters: Mapping[str, Any]) -> None:
        self.violations.append(Violation(method, rule, dict(parameters)))

    def effect(self, kind: str, chat_id: int, **data: Any) -> None:
        self._effect_numbers += 1
        self._effects.append(Effect(self._effect_numbers, time.monotonic(), kind, chat_id, data))
        self._changed.set()
        self._changed = asyncio.Event()

    def effects_after(self, number: int) -> list[dict[str, Any]]:
        newer = []
        for effect in reversed(self._effects):
            if effect.number <= number:
                break
            newer.append(asdict(effect))
        return newer[::-1]

    async def wait_for_change(self, timeout_seconds: float) -> None:
        """Return at the next effect, or after the time given."""
        changed = self._changed
        try:
            await asyncio.wait_for(changed.wait(), timeout_seconds)
        except TimeoutError:
            return
