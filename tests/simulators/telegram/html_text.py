"""Parses parse_mode HTML strictly, with the Bot API's own small set of tags."""

import html
import re
from dataclasses import dataclass
from typing import Any

from .utf16 import FormattedText, ParseError, TextBuilder

_TOKEN = re.compile(
    r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)((?:\s+[a-zA-Z-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>\"']+))?)*)\s*>"
)
_ATTRIBUTE = re.compile(r"([a-zA-Z-]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?")
_REFERENCE = re.compile(r"&(?:lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);")
_SIMPLE = {
    "b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
    "s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "code": "code",
    "pre": "pre",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _OpenTag:
    name: str
    start: int
    kind: str
    fields: dict[str, Any]


def parse_html(source: str) -> FormattedText:
    """Text and entities of `source`; raises `ParseError` for any tag the Bot API does not know or that stays open."""
    builder = TextBuilder()
    open_tags: list[_OpenTag] = []
    position = 0
    while (bracket := source.find("<", position)) >= 0:
        builder.add(_decoded(source[position:bracket]))
        match = _TOKEN.match(source, bracket)
        if match is None:
            raise ParseError(f"Unsupported start tag at byte offset {_bytes(source, bracket)}")
        if match[1]:
            _close(match[2].lower(), open_tags, builder, _bytes(source, bracket))
        else:
            open_tags.append(_opened(match, builder.length, open_tags, _bytes(source, bracket)))
        position = match.end()
    builder.add(_decoded(source[position:]))
    if open_tags:
        raise ParseError(f'Can\'t find end tag corresponding to start tag "{open_tags[-1].name}"')
    return builder.formatted()


def _opened(match: re.Match[str], start: int, open_tags: list[_OpenTag], offset: int) -> _OpenTag:
    name = match[2].lower()
    found = _ATTRIBUTE.findall(match[3])
    attributes = {key.lower(): _decoded(quoted or single or bare) for key, quoted, single, bare in found}
    if name == "a" and "href" in attributes:
        return _OpenTag(name, start, "text_link", {"url": attributes["href"]})
    if name == "span" and attributes.get("class") == "tg-spoiler":
        return _OpenTag(name, start, "spoiler", {})
    if name == "blockquote":
        return _OpenTag(name, start, "expandable_blockquote" if "expandable" in attributes else "blockquote", {})
    if name == "tg-emoji" and "emoji-id" in attributes:
        return _OpenTag(name, start, "custom_emoji", {"custom_emoji_id": attributes["emoji-id"]})
    if name == "code" and open_tags and open_tags[-1].name == "pre" and open_tags[-1].start == start:
        return _OpenTag(name, start, "language", _language(attributes))
    if name in _SIMPLE:
        return _OpenTag(name, start, _SIMPLE[name], {})
    raise ParseError(f'Unsupported start tag "{name}" at byte offset {offset}')


def _language(attributes: dict[str, str]) -> dict[str, Any]:
    written = attributes.get("class", "")
    return {"language": written.removeprefix("language-")} if written.startswith("language-") else {}


def _close(name: str, open_tags: list[_OpenTag], builder: TextBuilder, offset: int) -> None:
    if not open_tags:
        raise ParseError(f"Unexpected end tag at byte offset {offset}")
    tag = open_tags.pop()
    if tag.name != name:
        raise ParseError(f'Unmatched end tag at byte offset {offset}, expected "</{tag.name}>", found "</{name}>"')
    if tag.kind == "language":
        open_tags[-1].fields.update(tag.fields)
    else:
        builder.close(tag.start, tag.kind, **tag.fields)


def _decoded(text: str) -> str:
    return _REFERENCE.sub(lambda match: html.unescape(match.group()), text)


def _bytes(source: str, position: int) -> int:
    return len(source[:position].encode())
