"""The Markdown tree → HTML that is safe to put into the page."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from html import escape
from urllib.parse import unquote

import nh3

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
    plain_text,
)
from channels.shared.markdown_parser import parse

FileUrl = Callable[[str], str]

_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "s", "a"),
    *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "input"),
}
_ALIGNED = {"align-left", "align-center", "align-right"}
_SCHEMES = ("http", "https", "mailto")


@lru_cache(maxsize=512)
def to_html(markdown: str, file_url: FileUrl | None = None) -> str:
    """The fragment for a text. A link to a path of the thread (`/…`) leads to `file_url(path)`; what leads nowhere says its address.

    Pictures become links: nothing outside is loaded only because a text mentions it.
    """
    return nh3.clean(
        _Writer(has_files=file_url is not None).blocks(parse(markdown)),
        tags=_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}, "code": {"class"}, "input": {"checked", "disabled"}},
        attribute_filter=_keep_language,
        allowed_classes={"th": _ALIGNED, "td": _ALIGNED, "ul": {"contains-task-list"}, "li": {"task-list-item"}},
        tag_attribute_values={"input": {"type": {"checkbox"}}},
        set_tag_attribute_values={"a": {"target": "_blank"}},
        url_schemes=set(_SCHEMES),
        url_relative=_thread_links(file_url),
        link_rel="noopener noreferrer",
    )


def _keep_language(tag: str, attribute: str, value: str) -> str | None:
    """Of a code block's classes only its language stays."""
    if (tag, attribute) == ("code", "class"):
        return value if value.startswith("language-") and " " not in value else None
    return value


def _thread_links(file_url: FileUrl | None) -> Callable[[str], str | None]:
    def rewrite(url: str) -> str | None:
        if file_url is None or not _is_path(url):
            return None
        return file_url(unquote(url))

    return rewrite


def _is_path(url: str) -> bool:
    return url.startswith("/") and not url.startswith("//")


class _Writer:
    """Writes the tree down; with `has_files`, paths of the thread are links."""

    def __init__(self, *, has_files: bool) -> None:
        self._has_files = has_files
        self._is_in_link = False

    def blocks(self, blocks: Blocks, *, tight: bool = False) -> str:
        return "".join(self._block(block, tight=tight) for block in blocks)

    def _block(self, block: Block, *, tight: bool) -> str:
        match block:
            case Paragraph(children):
                return f"{self._inlines(children)}\n" if tight else f"<p>{self._inlines(children)}</p>\n"
            case Heading(level, children):
                return f"<h{level}>{self._inlines(children)}</h{level}>\n"
            case ListBlock():
                return self._list(block)
            case Quote(children):
                return f"<blockquote>\n{self.blocks(children)}</blockquote>\n"
            case Fence(text, language):
                kind = f' class="language-{escape(language)}"' if language else ""
                return f"<pre><code{kind}>{escape(text, quote=False)}\n</code></pre>\n"
            case Table():
                return self._table(block)
            case Rule():
                return "<hr>\n"

    def _list(self, block: ListBlock) -> str:
        items = "".join(self._item(item, tight=block.tight) for item in block.items)
        if block.start is not None:
            return f'<ol start="{block.start}">\n{items}</ol>\n'
        kind = ' class="contains-task-list"' if any(item.checked is not None for item in block.items) else ""
        return f"<ul{kind}>\n{items}</ul>\n"

    def _item(self, item: ListItem, *, tight: bool) -> str:
        if item.checked is None:
            return f"<li>{self.blocks(item.children, tight=tight)}</li>\n"
        box = f'<input type="checkbox" disabled{" checked" if item.checked else ""}> '
        return f'<li class="task-list-item">{box}{self.blocks(item.children, tight=tight)}</li>\n'

    def _table(self, table: Table) -> str:
        head = self._row("th", table.header, table.alignment)
        body = "".join(self._row("td", row, table.alignment) for row in table.rows)
        return f"<table>\n<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n"

    def _row(self, tag: str, cells: Iterable[Inlines], alignment: Iterable[str]) -> str:
        """Alignment as a class, since a policy without inline styles would drop the style attribute."""
        classes = (f' class="align-{side}"' if side else "" for side in alignment)
        written = (f"<{tag}{kind}>{self._inlines(cell)}</{tag}>\n" for cell, kind in zip(cells, classes, strict=True))
        return f"<tr>\n{''.join(written)}</tr>\n"

    def _inlines(self, inlines: Inlines) -> str:
        return "".join(map(self._inline, inlines))

    def _inline(self, inline: Inline) -> str:
        match inline:
            case TextRun(text):
                return escape(text, quote=False)
            case Break(hard):
                return "<br>\n" if hard else "\n"
            case Code(text):
                return f"<code>{escape(text, quote=False)}</code>"
            case Strong(children):
                return f"<strong>{self._inlines(children)}</strong>"
            case Emphasis(children):
                return f"<em>{self._inlines(children)}</em>"
            case Strike(children):
                return f"<s>{self._inlines(children)}</s>"
            case Link(url, children, title):
                return self._link(url, children, title)
            case Image(url, alt, title):
                return self._link(url, (TextRun(alt),) if alt else (), title)

    def _link(self, url: str, children: Inlines, title: str) -> str:
        """A link, or its words and its address where a browser would not follow it (or it is part of another)."""
        said = escape(f" ({title})", quote=False) if title else ""
        address = escape(url, quote=False)
        if self._is_in_link or not self._leads_somewhere(url):
            words = self._inlines(children)
            is_said = not url or unquote(plain_text(children)) == unquote(url)
            return f"{words}{said}" if words and is_said else f"{words} ({address}){said}" if words else address + said
        self._is_in_link = True
        words = self._inlines(children) or address
        self._is_in_link = False
        return f'<a href="{escape(url)}">{words}</a>{said}'

    def _leads_somewhere(self, url: str) -> bool:
        scheme, colon, _ = url.partition(":")
        return (bool(colon) and scheme.lower() in _SCHEMES) or (self._has_files and _is_path(url))
