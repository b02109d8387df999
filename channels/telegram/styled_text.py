"""Text with its formatting, as Telegram takes it: entities beside the text, never a parse mode."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from channels.contract import TextUnit
from channels.shared.chunking import split

MarkKind = Literal["bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"]
Entity = dict[str, str | int]
_MOST_ENTITIES = 100  # Bot API: what goes beyond is refused or dropped


class Mark(NamedTuple):
    """One entity. Offset and length count characters of the text here and become UTF-16 units in `entities`."""

    kind: MarkKind
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    @property
    def end(self) -> int:
        """The offset behind the last character."""
        return self.offset + self.length

    def at(self, offset: int, end: int) -> "Mark":
        """The same mark on other characters."""
        return Mark(self.kind, offset, end - offset, self.url, self.language)


@dataclass(frozen=True, slots=True)
class Styled:
    """A text with its marks."""

    text: str = ""
    marks: tuple[Mark, ...] = ()

    def entities(self) -> list[Entity]:
        """`MessageEntity` objects of the Bot API, at most 100; if there are more, links and code are kept before emphasis."""
        marks = sorted(self.marks, key=lambda mark: mark.kind in {"bold", "italic", "strikethrough"})[:_MOST_ENTITIES]
        marks.sort(key=lambda mark: (mark.offset, -mark.length))
        units = _Utf16Offsets(self.text)
        return [_entity(mark, units) for mark in marks]


class _Utf16Offsets:
    """UTF-16 offsets of the characters of a text: as their number, but for those beyond U+FFFF, which count twice."""

    def __init__(self, text: str) -> None:
        self._doubles = [] if text.isascii() else [at for at, letter in enumerate(text) if letter > "\uffff"]

    def __getitem__(self, offset: int) -> int:
        return offset + bisect_left(self._doubles, offset)


def _entity(mark: Mark, units: _Utf16Offsets) -> Entity:
    start = units[mark.offset]
    entity: Entity = {"type": mark.kind, "offset": start, "length": units[mark.end] - start}
    if mark.url is not None:
        entity["url"] = mark.url
    if mark.language is not None:
        entity["language"] = mark.language
    return entity


def plain(text: str) -> Styled:
    """Text without marks."""
    return Styled(text)


def joined(parts: Iterable[Styled], separator: str = "\n\n") -> Styled:
    """The parts that say something, one after the other."""
    texts: list[str] = []
    marks: list[Mark] = []
    offset = 0
    for part in parts:
        if not part.text:
            continue
        offset += len(separator) if texts else 0
        marks += (mark.at(mark.offset + offset, mark.end + offset) for mark in part.marks)
        texts.append(part.text)
        offset += len(part.text)
    return Styled(separator.join(texts), tuple(marks))


def chunks(whole: Styled, limit: int) -> list[Styled]:
    """Parts of at most `limit` UTF-16 units that together are the whole; a part of mere white space joins no message.

    A mark that is cut goes on in the next part, so that a code block stays one.
    """
    pieces = split(whole.text, limit, TextUnit.UTF16)
    starts = list(accumulate(map(len, pieces), initial=0))
    marks: list[list[Mark]] = [[] for _ in pieces]
    for mark in whole.marks:
        for number in range(bisect_right(starts, mark.offset) - 1, bisect_left(starts, mark.end)):
            start, end = starts[number], starts[number + 1]
            marks[number].append(mark.at(max(mark.offset, start) - start, min(mark.end, end) - start))
    return [Styled(piece, tuple(cut)) for piece, cut in zip(pieces, marks, strict=True) if piece.strip()]
