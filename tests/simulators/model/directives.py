"""Answers chosen by a directive in the prompt: `[bench id=x n=200 tps=0 ttft=0 tool=none]`."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .script import Stall, Step, Text, ToolCall

_PLAIN = re.compile(r"\s*(id|n|tps|ttft|tool|same)=([^\s\]]+)")
_ARGUMENTS = re.compile(r"\s*args=")
_WORDS = (" the", " bridge", " carries", " every", " word", " across,", " in", " order", " and", " once.")


@dataclass(frozen=True, slots=True)
class Directive:
    """`ttft` in seconds, `tps` in tokens per second; `same` answers every time alike; `args` for every tool named."""

    id: str = "x"
    n: int = 20
    tps: float = 0.0
    ttft: float = 0.0
    tools: Sequence[str] = ()
    args: dict[str, Any] = field(default_factory=dict)
    same: bool = False


def parse_directive(prompt: str) -> Directive | None:
    """The last directive in the prompt; None when there is none."""
    begin = prompt.rfind("[bench ")
    if begin < 0:
        return None
    position = begin + len("[bench")
    values: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    while True:
        if match := _PLAIN.match(prompt, position):
            values[match[1]] = match[2]
            position = match.end()
        elif match := _ARGUMENTS.match(prompt, position):
            arguments, position = json.JSONDecoder().raw_decode(prompt, match.end())
        else:
            break
    tools = [name for name in values.get("tool", "none").split(",") if name != "none"]
    return Directive(
        values.get("id", "x"), int(values.get("n", 20)), float(values.get("tps", 0)), float(values.get("ttft", 0)),
        tools, arguments, values.get("same") == "1",
    )  # fmt: skip


def steps_for(directive: Directive, *, count: int, after_tool: bool) -> list[Step]:
    """The answer number `count` to this prompt; tools are called first, then comes the text."""
    steps: list[Step] = [Stall(directive.ttft)] if directive.ttft else []
    if directive.tools and not after_tool:
        return steps + [ToolCall(name, directive.args) for name in directive.tools]
    return [*steps, Text(answer_text(directive.id, directive.n, 1 if directive.same else count), directive.tps)]


def answer_text(identity: str, tokens: int, count: int = 1) -> str:
    """`tokens` words that begin with the id and end with END; later answers carry their number."""
    head = identity if count == 1 else f"{identity} #{count}"
    words = max(tokens - 1 - len(head.split()), 0)
    return head + "".join(_WORDS[index % len(_WORDS)] for index in range(words)) + " END"
