"""Markdown → HTML that is safe to put into the page."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.tasklists import tasklists_plugin

from channels.shared.formulas import keep_formulas

FileUrl = Callable[[str], str]

_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "s", "a"),
    *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "input"),
}
_ALIGNED = {"align-left", "align-center", "align-right"}


@lru_cache(maxsize=512)
def to_html(markdown: str, file_url: FileUrl | None = None) -> str:
    """The fragment for a text. A link to a path of the thread (`/…`) leads to `file_url(path)`; other relative links lose their target.

    Pictures become links: nothing outside is loaded only because a text mentions it.
    """
    return nh3.clean(
        _MARKDOWN.render(markdown),
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}, "code": {"class"}, "input": {"checked", "disabled"}},
        attribute_filter=_keep_language,
        allowed_classes={"th": _ALIGNED, "td": _ALIGNED, "ul": {"contains-task-list"}, "li": {"task-list-item"}},
        tag_attribute_values={"input": {"type": {"checkbox"}}},
        set_tag_attribute_values={"a": {"target": "_blank"}},
        url_schemes={"http", "https", "mailto"},
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
        if file_url is None or not url.startswith("/") or url.startswith("//"):
            return None
        return file_url(unquote(url))

    return rewrite


def _image_as_link(_renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    image = tokens[index]
    text = image.content or str(image.attrGet("src"))
    return f'<a href="{escape(str(image.attrGet("src")))}">{escape(text)}</a>'


def _aligned_cell(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Mapping[str, Any]) -> str:
    """Alignment as a class, since a policy without inline styles would drop the style attribute."""
    cell = tokens[index]
    style = str(cell.attrs.pop("style", ""))
    if style:
        cell.attrSet("class", style.replace("text-align:", "align-"))
    return str(renderer.renderToken(tokens, index, options, env))


def _formula(_renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return escape(tokens[index].content)


def _formula_in_lines(_renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    lines = map(escape, tokens[index].content.split("\n"))
    return f"<p>{'<br>'.join(lines)}</p>\n"


def _build() -> MarkdownIt:
    parser = keep_formulas(
        MarkdownIt("commonmark", {"html": False, "maxNesting": 60}).enable(["table", "strikethrough"])
    )
    tasklists_plugin(parser)
    parser.add_render_rule("image", _image_as_link)
    parser.add_render_rule("formula", _formula)
    parser.add_render_rule("formula_block", _formula_in_lines)
    for cell in ("th_open", "td_open"):
        parser.add_render_rule(cell, _aligned_cell)
    return parser


_MARKDOWN = _build()
