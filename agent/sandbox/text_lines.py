"""Reads a stretch of lines from a text file, without loading what lies around it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from agent.errors import ToolFailed
from agent.sandbox.contract import FileText


def read_stretch(lines: Iterable[str], *, start_line: int, end_line: int | None, max_chars: int) -> FileText:
    """Take the lines `start_line` to `end_line` (from 1, both included), whole lines up to `max_chars`.

    Raises `ToolFailed` for a stretch that is none or begins behind the file's end.
    """
    if start_line < 1 or (end_line is not None and end_line < start_line):
        raise ToolFailed(f"not a range of lines: {start_line} to {end_line}; lines count from 1")
    rest = iter(lines)
    skipped = sum(1 for _ in islice(rest, start_line - 1))
    if skipped < start_line - 1:
        raise ToolFailed(f"line {start_line} is behind the end: the file has {skipped} lines")
    wanted = rest if end_line is None else islice(rest, end_line - start_line + 1)
    return _take(wanted, first=start_line, max_chars=max_chars)


def _take(lines: Iterable[str], *, first: int, max_chars: int) -> FileText:
    taken: list[str] = []
    room = max_chars
    for number, line in enumerate(lines, start=first):
        if len(line) > room:
            if taken:
                return FileText("".join(taken), next_line=number)
            return FileText(line[:room], next_line=number + 1, cut=True)
        taken.append(line)
        room -= len(line)
    if not taken and first > 1:
        raise ToolFailed(f"line {first} is behind the end: the file has {first - 1} lines")
    return FileText("".join(taken), next_line=None)
