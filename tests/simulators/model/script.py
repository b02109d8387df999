"""The steps of a scripted answer: text, tool calls, errors, cuts, stalls and gates."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Text:
    """Text at a pace in tokens per second (0: at once); a token is a word with the space before it."""

    text: str
    tokens_per_second: float = 0.0


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Text that comes as `reasoning_content`, as several providers send their thoughts."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call, its arguments split over several chunks; `raw_arguments` may be broken JSON."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    raw_arguments: str | None = None


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error instead of an answer; only as the first step."""

    status: int
    message: str = "The server had an error while processing your request."
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends here, without a finish reason."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing comes for so many simulated seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Gate:
    """Nothing comes until the test releases the gate."""

    name: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The reason given at the end, such as `length` or `content_filter`."""

    reason: str


Step = Text | Reasoning | ToolCall | HttpError | Cut | Stall | Gate | Finish
_STEPS: Mapping[str, type[Any]] = {
    kind.__name__: kind for kind in (Text, Reasoning, ToolCall, HttpError, Cut, Stall, Gate, Finish)
}


def dump(step: Step) -> dict[str, Any]:
    return {"step": type(step).__name__, **asdict(step)}


def load(described: Mapping[str, Any]) -> Step:
    """The step that `dump` described."""
    fields = {name: value for name, value in described.items() if name != "step"}
    step: Step = _STEPS[described["step"]](**fields)
    return step


@dataclass(slots=True)
class Script:
    """One answer, for the next call (or the next few) whose last user message contains `match`."""

    steps: Sequence[Step]
    match: str = ""
    times: int = 1


class Scripts:
    """The queued answers, first come first served."""

    def __init__(self) -> None:
        self._queue: list[Script] = []
        self._call_ids = itertools.count(1)

    def add(self, script: Script) -> None:
        self._queue.append(script)

    def clear(self) -> None:
        self._queue.clear()

    def take(self, prompt: str) -> Sequence[Step] | None:
        for script in self._queue:
            if script.match in prompt:
                script.times -= 1
                if script.times <= 0:
                    self._queue.remove(script)
                return script.steps
        return None

    def new_call_id(self) -> str:
        return f"call_{next(self._call_ids):08d}"
