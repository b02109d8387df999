"""The Markdown tree → text with its formatting."""

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from urllib.parse import unquote

from channels.shared.markdown import (
    Block,
    Blocks,
    Break,
    Code,
    Emphasis,
    Fence,
    Heading,
    Image,
    Inline,
    Inlines,
    Link,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    Strike,
    Strong,
    Table,
    TextRun,
)
from channels.shared.markdown_parser import parse_section, sections
from channels.telegram.styled_text import Mark, MarkKind, Styled, joined

_BULLETS = ("•", "◦", "▪")
_LINKABLE = ("http://", "https://")  # `tg://user?id=` would notify that person
_CODE_KINDS = {"code", "pre"}
_RULE = "⎯" * 12


def styled(markdown: str) -> Styled:
    """A Markdown text as Telegram shows it; everything a person could read in it is still there."""
    return joined(map(_styled_section, sections(markdown)))


@lru_cache(maxsize=256)
def _styled_section(markdown: str) -> Styled:
    writer = _Writer()
    writer.blocks(parse_section(markdown), indent="")
    return writer.finished()


class _Writer:
    """Collects the text of a tree and the marks on it. Without links that can be marked, addresses stand behind their words."""

    def __init__(self, *, marks_links: bool = True) -> None:
        self._marks_links = marks_links
        self._parts: list[str] = []
        self._length = 0
        self._marks: list[Mark] = []
        self._open: list[MarkKind] = []

    def finished(self) -> Styled:
        return Styled("".join(self._parts), tuple(self._marks))

    def blocks(self, blocks: Blocks, indent: str, *, tight: bool = False) -> None:
        """Blocks one under the other; `indent` begins every line but the first and those of code."""
        for number, block in enumerate(blocks):
            if number:
                self._text("\n" if tight else "\n\n")
                self._text("" if isinstance(block, Fence | Table) else indent)
            self._block(block, indent)

    def _block(self, block: Block, indent: str) -> None:
        match block:
            case Paragraph(children):
                self._inlines(children, indent)
            case Heading(_, children):
                with self._marked("bold"):
                    self._inlines(children, indent)
            case ListBlock():
                self._list(block, indent)
            case Quote(children):
                self._quote(children, indent)
            case Fence(text, language):
                self._preformatted(text, language)
            case Table():
                self._preformatted("\n".join(_table_lines(block)), "")
            case Rule():
                self._text(_RULE)

    def _list(self, block: ListBlock, indent: str) -> None:
        depth = indent.count("  ")
        for number, item in enumerate(block.items):
            if number:
                self._text("\n" if block.tight else "\n\n")
                self._text(indent)
            self._text(_sign(block, number, item, depth))
            if item.children and isinstance(item.children[0], Fence | Table):
                self._text("\n")
            self.blocks(item.children, indent + "  ", tight=block.tight)

    def _quote(self, children: Blocks, indent: str) -> None:
        if "blockquote" in self._open:  # Bot API: quotes can't be nested
            self._text("> ")
            self.blocks(children, f"{indent}> ")
            return
        with self._marked("blockquote"):
            self.blocks(children, indent)

    def _preformatted(self, text: str, language: str) -> None:
        start = self._length
        self._text(text)
        self._mark("pre", start, self._length, language=language or None)

    def _inlines(self, inlines: Inlines, indent: str) -> None:
        for inline in inlines:
            self._inline(inline, indent)

    def _inline(self, inline: Inline, indent: str) -> None:
        match inline:
            case TextRun(text):
                self._text(text)
            case Break():
                self._text(f"\n{indent}")
            case Code(text):
                self._code(text)
            case Strong(children):
                self._emphasised("bold", children, indent)
            case Emphasis(children):
                self._emphasised("italic", children, indent)
            case Strike(children):
                self._emphasised("strikethrough", children, indent)
            case Link(url, children, title):
                self._link(url, children, title, indent)
            case Image(url, alt, title):
                self._link(url, (TextRun(alt or url),), title, indent)

    def _emphasised(self, kind: MarkKind, children: Inlines, indent: str) -> None:
        with self._marked(kind):
            self._inlines(children, indent)

    def _code(self, text: str) -> None:
        start = self._length
        self._text(text)
        if "text_link" not in self._open:  # Bot API: code is part of no link
            self._mark("code", start, self._length)

    def _link(self, url: str, children: Inlines, title: str, indent: str) -> None:
        start = self._length
        if self._can_mark(url):
            with self._marked("text_link", url):
                self._inlines(children or (TextRun(url),), indent)
        else:
            self._inlines(children, indent)
            shown = unquote("".join(self._parts)[start:])
            if url and shown not in {unquote(url), unquote(url.removeprefix("mailto:"))}:
                self._text(f" ({url})" if shown else url)
        if title:
            self._text(f" ({title})")

    def _can_mark(self, url: str) -> bool:
        """Whether a link can be put here; none is part of another (a picture in a link has an address as well)."""
        return self._marks_links and "text_link" not in self._open and url.lower().startswith(_LINKABLE)

    @contextmanager
    def _marked(self, kind: MarkKind, url: str | None = None) -> Iterator[None]:
        """Marks what is written inside, except code, which is part of nothing but quotes; nothing is marked twice."""
        start, known = self._length, len(self._marks)
        nested = kind in self._open
        self._open.append(kind)
        yield
        self._open.pop()
        if nested:
            return
        code = [] if kind == "blockquote" else [mark for mark in self._marks[known:] if mark.kind in _CODE_KINDS]
        for mark in code:
            self._mark(kind, start, mark.offset, url=url)
            start = mark.end
        self._mark(kind, start, self._length, url=url)

    def _mark(
        self, kind: MarkKind, start: int, end: int, *, url: str | None = None, language: str | None = None
    ) -> None:
        if start < end:
            self._marks.append(Mark(kind, start, end - start, url, language))

    def _text(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def _sign(block: ListBlock, number: int, item: ListItem, depth: int) -> str:
    box = {None: "", True: "☑ ", False: "☐ "}[item.checked]
    if block.start is not None:
        return f"{block.start + number}{block.delimiter} {box}"
    return box or f"{_BULLETS[min(depth, len(_BULLETS) - 1)]} "


def _table_lines(table: Table) -> Iterator[str]:
    rows = [[_cell_text(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(_width(row[column]) for row in rows) for column in range(len(table.header))]
    lines = [" | ".join(map(_aligned, row, widths, table.alignment)).rstrip() for row in rows]
    yield lines[0]
    yield "-+-".join("-" * width for width in widths)
    yield from lines[1:]


def _cell_text(cell: Inlines) -> str:
    """A table is code, in which nothing can be marked."""
    writer = _Writer(marks_links=False)
    writer.blocks((Paragraph(cell),), indent="")
    return writer.finished().text


def _aligned(text: str, width: int, alignment: str) -> str:
    missing = width - _width(text)
    before = {"right": missing, "center": missing // 2}.get(alignment, 0)
    return f"{' ' * before}{text}{' ' * (missing - before)}"


def _width(text: str) -> int:
    """Columns in a fixed-width font: East Asian characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
