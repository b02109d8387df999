"""A simulated provider: what it answers to which prompt, and what it remembers."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from ..clock import ScaledClock
from ..gates import Gates
from .directives import parse_directive, steps_for
from .journal import ModelJournal
from .script import Scripts, Step, Text, ToolCall

_DIGESTS_KEPT = 50_000


@dataclass(slots=True)
class Provider:
    """Everything one simulated provider knows."""

    api_key: str
    clock: ScaledClock
    scripts: Scripts = field(default_factory=Scripts)
    gates: Gates = field(default_factory=Gates)
    journal: ModelJournal = field(default_factory=ModelJournal)
    answered: Counter[bytes] = field(default_factory=Counter)
    call_ids: Counter[str] = field(default_factory=Counter)

    def steps(self, prompt: str, messages: Sequence[dict[str, Any]]) -> Sequence[Step]:
        """What to answer: the next script that matches, else the prompt's directive, else an echo."""
        count = self._count(messages)
        scripted = self.scripts.take(prompt)
        if scripted is not None:
            return scripted
        directive = parse_directive(prompt)
        if directive is not None:
            return steps_for(directive, count=count, after_tool=messages[-1]["role"] == "tool")
        return [Text(f"Answer {count} to: {prompt}")]

    def _count(self, messages: Sequence[dict[str, Any]]) -> int:
        """How often this conversation (its instructions apart) was sent, this time included."""
        told = [message for message in messages if message["role"] not in {"system", "developer"}]
        digest = hashlib.blake2b(orjson.dumps(told), digest_size=16).digest()
        self.answered[digest] += 1
        if len(self.answered) > _DIGESTS_KEPT:
            del self.answered[next(iter(self.answered))]
        return self.answered[digest]

    def tool_call(self, step: ToolCall) -> dict[str, Any]:
        """The call in the provider's words, with a new id unless the script names one."""
        arguments = orjson.dumps(dict(step.arguments)).decode() if step.raw_arguments is None else step.raw_arguments
        identity = step.id or self.scripts.new_call_id()
        if step.id:
            self.call_ids[step.id] += 1
        return {"id": identity, "type": "function", "function": {"name": step.name, "arguments": arguments}}

    @property
    def reused_call_ids(self) -> frozenset[str]:
        return frozenset(identity for identity, times in self.call_ids.items() if times > 1)
