"""The rules the demo model answers by: first match wins."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from agent.models.demo_turn import Turn

INTRODUCTION: Final = """\
Hello! I am the **demo model** that comes with the bridge: a handful of rules, no language model. \
I am here so that you can see everything work before you have a key.

Try one of these:

- `make a report` – I ask you something, then write a file and hand it to you
- `write a file` – I write one at once
- drop a CSV or a text file in – I read it and tell you what is in it

To talk to a real model, put it into `config.yaml` and start again:

```yaml
models:
  - {name: main, model: gpt-5, api_key: $OPENAI_API_KEY}
```
"""

ECHO: Final = """\
You wrote: “{question}”

I would like to say something clever about that, but I am only the **demo model**: a few rules, no language model. \
Say `help` to see what I can show you, and how to connect a real one.
"""

CLOSING: Final = """\
Done: the file is yours. That was the demo model's whole art, in three steps:

| step | tool | what happened |
|---|---|---|
| 1 | `write_file` | the text went into the thread's `outputs` folder |
| 2 | `present_files` | the file was handed to you |
| 3 | – | this answer was streamed, word by word |

What a real model would do in the same place:

1. decide for itself which tools to call
2. write something worth reading
3. show code, such as

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```
"""

REPORT: Final = """\
# A demo report

Asked for: {question}

This file was written by the demo model with `write_file` and handed over with `present_files`.
"""

PICTURE: Final = """\
`{name}` has arrived. A real model that knows pictures would look at it; the demo model cannot. \
Try a CSV or a text file.
"""

PICTURE_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})

REPORT_PATH: Final = "/mnt/user-data/outputs/demo-report.md"


@dataclass(frozen=True, slots=True)
class Step:
    """What the model does next: say something, call a tool, or both."""

    text: str = ""
    tool: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """When a turn looks like `when`, and the tool it needs is there, do `then`."""

    when: Callable[[Turn], bool]
    then: Callable[[Turn], Step]
    needs: str | None = None


def next_step(turn: Turn) -> Step:
    """Give what the first matching rule says."""
    return next(rule.then(turn) for rule in RULES if _applies(rule, turn))


def _applies(rule: Rule, turn: Turn) -> bool:
    return (rule.needs is None or rule.needs in turn.tools) and rule.when(turn)


def _failed(turn: Turn) -> bool:
    return turn.last_result is not None and turn.last_result.status == "error"


def _explain_failure(turn: Turn) -> Step:
    return Step(f"A tool could not do what I asked:\n\n{_fenced(turn.last_text)}\n\nThat is where I stop.")


def _brings_a_picture(turn: Turn) -> bool:
    return bool(turn.files) and PurePosixPath(turn.files[0]).suffix.lower() in PICTURE_SUFFIXES


def _ask(_: Turn) -> Step:
    return Step(
        tool="ask_clarification",
        arguments={
            "question": "What kind of report shall it be?",
            "clarification_type": "approach_choice",
            "context": "I can only write one of these, and all three look rather alike.",
            "options": ["A short summary", "A detailed report", "A list of open questions"],
        },
    )


def _read_upload(turn: Turn) -> Step:
    return Step("Let me look into that file.\n", "read_file", {"path": turn.files[0]})


def _write(turn: Turn) -> Step:
    content = REPORT.format(question=turn.question)
    return Step("I write that down.\n", "write_file", {"path": REPORT_PATH, "content": content})


def _present(_: Turn) -> Step:
    return Step(tool="present_files", arguments={"filepaths": [REPORT_PATH]})


def _tell_what_was_read(turn: Turn) -> Step:
    path = PurePosixPath(turn.files[0]) if turn.files else PurePosixPath("the file")
    told = (
        _describe_table(path, turn.last_text)
        if path.suffix.lower() in {".csv", ".tsv"}
        else _describe_text(path, turn.last_text)
    )
    others = "".join(f"\n- `{PurePosixPath(file).name}`" for file in turn.files[1:])
    return Step(f"{told}\n\nI only read the first file; these came too:\n{others}\n" if others else told)


RULES: Final = (
    Rule(when=_failed, then=_explain_failure),
    Rule(when=lambda turn: turn.stands_after("present_files"), then=lambda _: Step(CLOSING)),
    Rule(when=lambda turn: turn.stands_after("write_file"), then=_present, needs="present_files"),
    Rule(when=lambda turn: turn.stands_after("write_file"), then=lambda _: Step(CLOSING)),
    Rule(when=lambda turn: turn.stands_after("read_file"), then=_tell_what_was_read),
    Rule(when=_brings_a_picture, then=lambda turn: Step(PICTURE.format(name=PurePosixPath(turn.files[0]).name))),
    Rule(when=lambda turn: bool(turn.files), then=_read_upload, needs="read_file"),
    Rule(when=lambda turn: turn.answers_clarification, then=_write, needs="write_file"),
    Rule(when=lambda turn: turn.mentions("write", "save", "file"), then=_write, needs="write_file"),
    Rule(
        when=lambda turn: turn.mentions("ask me", "report", "make", "create", "plan"),
        then=_ask,
        needs="ask_clarification",
    ),
    Rule(
        when=lambda turn: not turn.question or turn.mentions("help", "hello", "hi", "hey"),
        then=lambda _: Step(INTRODUCTION),
    ),
    Rule(when=lambda _: True, then=lambda turn: Step(ECHO.format(question=turn.question))),
)


def _describe_table(path: PurePosixPath, text: str) -> str:
    body, cut = _without_note(text)
    rows = [
        row for row in csv.reader(io.StringIO(body), delimiter="\t" if path.suffix.lower() == ".tsv" else ",") if row
    ]
    if not rows:
        return f"`{path.name}` is empty."
    header, *data = rows
    count = f"{'at least ' if cut else ''}{len(data)} rows and {len(header)} columns"
    table = [_table_row(header), _table_row(["---"] * len(header)), *map(_table_row, data[:3])]
    return f"`{path.name}` has {count}: {', '.join(header)}. It begins like this:\n\n" + "\n".join(table)


def _describe_text(path: PurePosixPath, text: str) -> str:
    body, cut = _without_note(text)
    lines = body.splitlines()
    count = f"{'at least ' if cut else ''}{len(lines)} lines"
    return f"`{path.name}` has {count}. It begins like this:\n\n" + _fenced("\n".join(lines[:5]))


def _without_note(text: str) -> tuple[str, bool]:
    """Part the file's text from the note `read_file` puts below a file it did not read to its end."""
    body, _, note = text.rpartition("\n[")
    return (body, True) if note.startswith("there is more") else (text, False)


def _table_row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
