"""Text with its formatting, as Telegram takes it: entities beside the text, never a parse mode."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple

from channels.contract import TextUnit
from channels.shared.chunking import best_end, piece_end
from channels.shared.mentions import names

MarkKind = Literal["bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"]
Entity = dict[str, str | int]
_MOST_ENTITIES = 100  # Bot API: what goes beyond is refused or dropped
_WITHOUT_MENTIONS = {"code", "pre", "text_link"}
_MOST_IN_PART = _MOST_ENTITIES - 1  # leaves room for a line that is put above


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
        marks.sort(key=lambda mark: (mark.offset, -mark.length, mark.kind != "blockquote"))  # what is outside first
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


def quiet(whole: Styled) -> Styled:
    """The same text, in which nobody is mentioned: `@name` is shown as code, where Telegram looks for no names.

    An invisible character behind the @ would do as well, but it would be copied along.
    """
    silent = [mark for mark in whole.marks if mark.kind in _WITHOUT_MENTIONS]
    marks = list(whole.marks)
    for start, end in names(whole.text):
        if not any(mark.offset < end and start < mark.end for mark in silent):
            marks = [part for mark in marks for part in _around(mark, start, end)]
            marks.append(Mark("code", start, end - start))
    return Styled(whole.text, tuple(marks))


def _around(mark: Mark, start: int, end: int) -> Iterable[Mark]:
    """What is left of a mark when code stands there, which is part of nothing but quotes."""
    if mark.kind == "blockquote" or mark.end <= start or end <= mark.offset:
        return (mark,)
    parts = (mark.at(mark.offset, start), mark.at(end, mark.end))
    return (part for part in parts if part.length > 0)


def chunks(whole: Styled, limit: int) -> list[Styled]:
    """Parts of at most `limit` UTF-16 units that together are the whole; a part of mere white space joins no message.

    A mark that is cut goes on in the next part, so that a code block stays one; one that begins in the second half of a part
    begins the next instead. None has more marks than Telegram shows.
    """
    marks = sorted(whole.marks, key=attrgetter("offset"))
    parts: list[Styled] = []
    start = 0
    while start < len(whole.text):
        end = _part_end(whole.text, marks, start, limit)
        inside = (mark for mark in marks if mark.offset < end and mark.end > start)
        cut = tuple(mark.at(max(mark.offset, start) - start, min(mark.end, end) - start) for mark in inside)
        parts.append(Styled(whole.text[start:end], cut))
        marks = [mark for mark in marks if mark.end > end]
        start = end
    return [part for part in parts if part.text.strip()]


def _part_end(text: str, marks: Sequence[Mark], start: int, limit: int) -> int:
    """Where the part that begins at `start` ends, given the marks that end behind it, in order."""
    end = piece_end(text, start, limit, TextUnit.UTF16)
    if len(marks) > _MOST_IN_PART and (surplus := marks[_MOST_IN_PART].offset) < end:
        end = best_end(text, start, max(surplus, start + 1))
    begun = (mark.offset for mark in marks if mark.kind == "pre" and mark.offset < end < mark.end)
    return next((offset for offset in begun if offset - start > (end - start) // 2), end)
