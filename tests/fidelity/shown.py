"""What a platform shows of an answer, whichever platform: messages of text, and what is marked in them."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Kind = Literal["strong", "em", "del", "code", "pre", "a", "blockquote"]


@dataclass(frozen=True)
class Span:
    """Characters of one message that are marked; offsets count characters of its text."""

    kind: Kind
    start: int
    end: int
    url: str = ""
    language: str = ""


@dataclass(frozen=True)
class Message:
    """One message as it stands on the screen."""

    text: str
    spans: Sequence[Span] = ()


@dataclass(frozen=True)
class Screen:
    """All messages of an answer, addressed by their characters without white space (a platform may trim and wrap)."""

    messages: Sequence[Message]

    @cached_property
    def ink(self) -> str:
        """Everything but white space."""
        return "".join(ink(message.text) for message in self.messages)

    @cached_property
    def lines(self) -> list[int]:
        """The number of the line each character of `ink` stands on."""
        numbers, line = [], 0
        for message in self.messages:
            for character in message.text:
                line += character == "\n"
                if not character.isspace():
                    numbers.append(line)
            line += 1
        return numbers

    @cached_property
    def marked(self) -> list[tuple[int, int, Span]]:
        """Every span with the range of `ink` it covers."""
        found, before = [], 0
        for message in self.messages:
            for span in message.spans:
                start = before + len(ink(message.text[: span.start]))
                found.append((start, start + len(ink(message.text[span.start : span.end])), span))
            before += len(ink(message.text))
        return found

    def covers(self, start: int, end: int, kind: str) -> bool:
        """Whether all of this range of `ink` is marked so, be it in several messages."""
        at = bisect_right(self._covered.get(kind, []), (start, len(self.ink))) - 1
        return at >= 0 and self._covered[kind][at][0] <= start and end <= self._covered[kind][at][1]

    @cached_property
    def _covered(self) -> dict[str, list[tuple[int, int]]]:
        """The ranges of each kind, those that touch joined."""
        ranges: dict[str, list[tuple[int, int]]] = {}
        for start, end, span in sorted(self.marked, key=lambda found: found[:2]):
            known = ranges.setdefault(span.kind, [])
            if known and start <= known[-1][1]:
                known[-1] = (known[-1][0], max(end, known[-1][1]))
            else:
                known.append((start, end))
        return ranges


class NotTaken(Exception):
    """The platform would refuse what it is to show; says why."""


@dataclass(frozen=True)
class Renderer:
    """A platform for the corpus: how it shows a text (raising NotTaken), and what it cannot.

    `is_live` says of an address whether the platform makes a link of it. Where `tables_are_code` nothing is marked in a table;
    where `names_are_code`, `@name` is neither bold nor anything else.
    """

    show: Callable[[str], Sequence[Message]]
    is_live: Callable[[str], bool]
    boxes: tuple[str, str] = ("☐", "☑")
    tables_are_code: bool = False
    names_are_code: bool = False
    unmarked_in_links: frozenset[str] = frozenset()


def ink(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())
