"""Markdown of the agent → the tree, with nothing lost."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, cast

from markdown_it import MarkdownIt
from markdown_it.rules_block.table import escapedSplit
from markdown_it.tree import SyntaxTreeNode

from channels.shared.formulas import keep_formulas
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

_DEEPEST_BLOCK = 60
_DEEPEST_INLINE = 20
_SHORT = 512
_LINE = re.compile(
    r"^(?P<lead>[ \t>*+\-\d.)]*)(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)$|\n[ \t]*\n(?P<begins>(?=#{1,6} |[^\W\d]))",
    re.MULTILINE,
)
_TASK = re.compile(r"\[([ xX])\](?:\s+|$)")
_WRAPPERS: Mapping[str, type[Strong] | type[Emphasis] | type[Strike]] = {"strong": Strong, "em": Emphasis, "s": Strike}

_PARSER = keep_formulas(
    MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST_BLOCK, "store_labels": True}).enable(
        ["table", "strikethrough"]
    )
)


def parse(source: str) -> Blocks:
    """The tree of a text (CommonMark, tables, strikethrough, task items); raw HTML and formulas are text, and no text is lost.

    What is nested far too deeply to show is given as the lines it was written in.
    """
    return tuple(block for section in sections(source) for block in parse_section(section))


def sections(source: str) -> list[str]:
    """The text cut where nothing before can matter to what comes after, so that of a growing text only the end is read anew.

    That is before a line of text at the margin behind an empty one, outside fences, unless there are link definitions.
    """
    if len(source) < _SHORT or "]:" in source:
        return [source]
    starts, fence = [0], ""
    for found in _LINE.finditer(source):
        if found["begins"] is None:
            if not fence and found["lead"]:
                break  # a fence inside a list or a quote ends with it, which takes a parser to know
            fence = _fence_after(fence, found)
        elif not fence and found.start("begins") - starts[-1] >= _SHORT:
            starts.append(found.start("begins"))
    return [source[start:end] for start, end in zip(starts, [*starts[1:], len(source)], strict=True)]


def _fence_after(opened: str, line: re.Match[str]) -> str:
    """The marks of the fence that is open behind this line, given those before it."""
    if not opened:
        return "" if "`" in line["info"] and line["fence"].startswith("`") else line["fence"]
    closes = line["fence"].startswith(opened) and not line["info"].strip() and re.fullmatch(" {0,3}", line["lead"])
    return "" if closes else opened


@lru_cache(maxsize=256)
def parse_section(source: str) -> Blocks:
    """The tree of a section, remembered: an answer is rendered many times while it grows."""
    env: dict[str, Any] = {}
    tokens = _PARSER.parse(source, env)
    if any(token.level >= _DEEPEST_BLOCK - 1 for token in tokens):
        return (_as_written(source.splitlines()),)
    try:
        root = SyntaxTreeNode(tokens)
    except RecursionError:
        return (_as_written(source.splitlines()),)
    reader = _Reader(source)
    placed = [(_first_line(node), block) for node in root.children for block in reader.block(node)]
    if env:
        placed = sorted(chain(placed, reader.unused_definitions(env)), key=lambda pair: pair[0])
    return tuple(block for _, block in placed)


def _first_line(node: SyntaxTreeNode) -> int:
    return node.map[0] if node.map else 0


def _as_written(lines: Iterable[str]) -> Paragraph:
    runs: list[Inline] = []
    for line in lines:
        runs.extend((TextRun(line), Break(hard=True)))
    return Paragraph(tuple(runs[:-1]))


class _Reader:
    """Turns the parser's nodes into ours and notes which link definitions were of use."""

    def __init__(self, source: str) -> None:
        self._lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._labels_used: set[str] = set()

    def block(self, node: SyntaxTreeNode) -> Iterator[Block]:
        match node.type:
            case "paragraph":
                yield Paragraph(self._content(node))
            case "heading":
                yield Heading(int(node.tag[1:]), self._content(node))
            case "blockquote":
                yield Quote(self._blocks(node))
            case "bullet_list":
                yield ListBlock(self._items(node), tight=_is_tight(node))
            case "ordered_list":
                start = int(cast("int", node.attrs.get("start", 1)))
                yield ListBlock(self._items(node), start, node.markup, _is_tight(node))
            case "fence" | "code_block":
                yield from _fence(node)
            case "table":
                yield self._table(node)
            case "hr":
                yield Rule()
            case _:
                yield _as_written(node.content.splitlines())

    def unused_definitions(self, env: Mapping[str, Any]) -> Iterator[tuple[int, Block]]:
        """Link definitions that no link uses: a person would never see them otherwise."""
        known = env.get("references", {})
        unused = [found for label, found in known.items() if label not in self._labels_used]
        for definition in chain(unused, env.get("duplicate_refs", ())):
            first, last = definition["map"]
            yield first, _as_written(self._lines[first:last])

    def _blocks(self, node: SyntaxTreeNode) -> Blocks:
        return tuple(block for child in node.children for block in self.block(child))

    def _content(self, node: SyntaxTreeNode) -> Inlines:
        return self._inlines(node.children[0].children) if node.children else ()

    def _items(self, node: SyntaxTreeNode) -> tuple[ListItem, ...]:
        return tuple(_as_task(self._blocks(item)) for item in node.children)

    def _table(self, node: SyntaxTreeNode) -> Table:
        lines = [row for part in node.children for row in part.children]
        header = tuple(self._content(cell) for cell in lines[0].children)
        rows = tuple(self._row(line) for line in lines[1:])
        return Table(header, rows, tuple(_alignment(cell) for cell in lines[0].children))

    def _row(self, node: SyntaxTreeNode) -> tuple[Inlines, ...]:
        cells = [self._content(cell) for cell in node.children]
        surplus = self._surplus(node, len(cells))
        if surplus:
            cells[-1] = (*cells[-1], TextRun(surplus))
        return tuple(cells)

    def _surplus(self, row: SyntaxTreeNode, width: int) -> str:
        """What a row says beyond the last column, which the parser drops."""
        line = self._lines[_first_line(row)].lstrip("> \t").removeprefix("|").rstrip().removesuffix("|")
        return "".join(f" | {cell.strip()}" for cell in escapedSplit(line)[width:] if cell.strip())

    def _inlines(self, nodes: Iterable[SyntaxTreeNode], depth: int = 0) -> Inlines:
        return tuple(inline for node in nodes for inline in self._inline(node, depth))

    def _inline(self, node: SyntaxTreeNode, depth: int) -> Iterator[Inline]:
        match node.type:
            case "text":
                if node.content:
                    yield TextRun(node.content)
            case "formula":
                yield from _as_written(node.content.split("\n")).children
            case "softbreak" | "hardbreak":
                yield Break(hard=node.type == "hardbreak")
            case "code_inline":
                yield Code(node.content)
            case "image":
                self._note_label(node)
                yield Image(str(node.attrs["src"]), _alternative(node), str(node.attrs.get("title", "")))
            case "link":
                self._note_label(node)
                if depth >= _DEEPEST_INLINE:
                    yield from (*self._inlines(node.children, depth + 1), TextRun(f" ({node.attrs['href']})"))
                    return
                children = self._inlines(node.children, depth + 1)
                yield Link(str(node.attrs["href"]), children, str(node.attrs.get("title", "")))
            case "strong" | "em" | "s" if depth < _DEEPEST_INLINE:
                yield _WRAPPERS[node.type](self._inlines(node.children, depth + 1))
            case _:
                yield from self._inlines(node.children, depth + 1)

    def _note_label(self, node: SyntaxTreeNode) -> None:
        if "label" in node.meta:
            self._labels_used.add(node.meta["label"])


def _alternative(node: SyntaxTreeNode) -> str:
    """What a picture's description says, in plain text; the addresses in it behind their words."""
    match node.type:
        case "text" | "code_inline" | "formula":
            return node.content
        case "softbreak" | "hardbreak":
            return "\n"
        case _:
            said = "".join(map(_alternative, node.children))
            return f"{said} ({node.attrs['href']})" if node.type == "link" else said


def _alignment(cell: SyntaxTreeNode) -> Literal["left", "center", "right", ""]:
    style = str(cell.attrs.get("style", "")).removeprefix("text-align:")
    return cast("Literal['left', 'center', 'right', '']", style)


def _is_tight(node: SyntaxTreeNode) -> bool:
    return all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")


def _fence(node: SyntaxTreeNode) -> Iterator[Block]:
    language, _, rest = node.info.strip().partition(" ")
    if rest.strip():
        yield Paragraph((Code(rest.strip()),))
    yield Fence(node.content.removesuffix("\n"), language)


def _as_task(blocks: Blocks) -> ListItem:
    match blocks:
        case (Paragraph((TextRun(text), *others)), *following) if found := _TASK.match(text):
            rest = text[found.end() :]
            children = (TextRun(rest), *others) if rest else tuple(others)
            return ListItem((Paragraph(children), *following), checked=found[1] != " ")
        case _:
            return ListItem(blocks)
