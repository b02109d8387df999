"""What is wrong in a configuration, said so that it can be mended: where, what, and what to write instead."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from bridge.errors import ConfigError


class Position(NamedTuple):
    """A place in a file, counted from 1 as editors do."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: the path of keys that leads to it, and a sentence."""

    path: tuple[str | int, ...]
    message: str
    position: Position | None = None


def refuse(source: Path | None, problems: Sequence[Problem]) -> ConfigError:
    """The error that lists all `problems`, in the order of the file."""
    ordered = sorted(problems, key=lambda problem: problem.position or Position(0, 0))
    lines = [_line(source, problem) for problem in ordered]
    if len(lines) == 1:
        return ConfigError(lines[0])
    return ConfigError("\n".join([f"the configuration has {len(lines)} mistakes:", *(f"  {line}" for line in lines)]))


def _line(source: Path | None, problem: Problem) -> str:
    where = str(source) if source else "configuration"
    if source and problem.position:
        where += f":{problem.position.line}:{problem.position.column}"
    key = dotted(problem.path)
    return f"{where}: {key}: {problem.message}" if key else f"{where}: {problem.message}"


def dotted(path: Sequence[str | int]) -> str:
    """`("models", 0, "use")` as people write it: `models[0].use`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def closest(wrong: str, possible: Sequence[str]) -> str | None:
    """The possible word that `wrong` was probably meant to be."""
    return next(iter(get_close_matches(wrong.casefold(), possible, n=1, cutoff=0.6)), None)


def did_you_mean(wrong: str, possible: Sequence[str]) -> str:
    """` Did you mean …?`, or nothing when nothing is close."""
    found = closest(wrong, possible)
    return f" Did you mean {found!r}?" if found else ""
