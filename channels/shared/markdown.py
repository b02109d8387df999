"""The small tree of an answer that every platform renders from."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TextRun:
    """Plain characters."""

    text: str


@dataclass(frozen=True, slots=True)
class Break:
    """The end of a line inside a paragraph; a `hard` one was asked for."""

    hard: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Characters of code within a line."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Important text."""

    children: "Inlines"


@dataclass(frozen=True, slots=True)
class Emphasis:
    """Stressed text."""

    children: "Inlines"


@dataclass(frozen=True, slots=True)
class Strike:
    """Text that no longer holds."""

    children: "Inlines"


@dataclass(frozen=True, slots=True)
class Link:
    """A link; `title` is what a page would show as a tooltip."""

    url: str
    children: "Inlines"
    title: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture elsewhere; `alt` says what is on it."""

    url: str
    alt: str
    title: str = ""


Inline = TextRun | Break | Code | Strong | Emphasis | Strike | Link | Image
Inlines = tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines that belong together."""

    children: Inlines


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6."""

    level: int
    children: Inlines


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item; `checked` is None unless it is a task."""

    children: "Blocks"
    checked: bool | None = None


@dataclass(frozen=True, slots=True)
class ListBlock:
    """A list. `start` is the first number of an ordered one, `delimiter` what stands behind its numbers."""

    items: tuple[ListItem, ...]
    start: int | None = None
    delimiter: str = "."
    tight: bool = True


@dataclass(frozen=True, slots=True)
class Quote:
    """Something quoted."""

    children: "Blocks"


@dataclass(frozen=True, slots=True)
class Fence:
    """Lines of code; `language` is empty when none was named."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as the header."""

    header: tuple[Inlines, ...]
    rows: tuple[tuple[Inlines, ...], ...]
    alignment: tuple[Literal["left", "center", "right", ""], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across."""


Block = Paragraph | Heading | ListBlock | Quote | Fence | Table | Rule
Blocks = tuple[Block, ...]


def plain_text(inlines: Inlines) -> str:
    """What a person reads of it, without the marks."""
    return "".join(map(_plain, inlines))


def _plain(inline: Inline) -> str:
    match inline:
        case TextRun(text) | Code(text):
            return text
        case Break():
            return "\n"
        case Image(url, alt):
            return alt or url
        case Strong(children) | Emphasis(children) | Strike(children) | Link(_, children):
            return plain_text(children)
