"""Texts as the Bot API counts and checks them: UTF-16 lengths, entities, formatting modes."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from .errors import broken_rule
from .html_text import parse_html
from .markdown_text import parse_markdown
from .utf16 import FormattedText, ParseError, utf16_length

Entity = dict[str, Any]
MESSAGE_LIMIT = 4096
CAPTION_LIMIT = 1024
_ENTITY_LIMIT = 100
_REQUIRED_FIELDS = {"text_link": {"url"}, "text_mention": {"user"}, "custom_emoji": {"custom_emoji_id"}}
_OPTIONAL_FIELDS = {"pre": {"language"}, "date_time": {"unix_time", "date_time_format"}}
_CODE = {"code", "pre"}
_QUOTES = {"blockquote", "expandable_blockquote"}
_KINDS = _CODE | _QUOTES | {
    "mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bold", "italic", "underline",
    "strikethrough", "spoiler", "text_link", "text_mention", "custom_emoji", "date_time",
}  # fmt: skip
_DETECTED = (
    ("bot_command", re.compile(r"(?<![\w/])/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?\b")),
    ("email", re.compile(r"[\w.+-]+@[\w-]+\.[A-Za-z]{2,}\b")),
    ("mention", re.compile(r"(?<![\w@/])@[A-Za-z]\w{3,31}\b")),
    ("url", re.compile(r"https?://[^\s<>\"]*[^\s<>\".,;:!?)\]]")),
    ("hashtag", re.compile(r"(?<![\w#])#(?!\d+\b)\w+")),
)
_PARSERS: Mapping[str, Callable[[str], FormattedText]] = {"html": parse_html, "markdownv2": parse_markdown}


def formatted(
    text: str, parse_mode: str | None, entities: list[Entity] | None, *, limit: int, may_be_empty: bool
) -> FormattedText:
    """The text a person will see with its entities; raises `Refused` for what the server would not take."""
    result = _parsed(text, parse_mode) if parse_mode else FormattedText(text, _checked_entities(text, entities or []))
    result = _detected(_trimmed(result))
    if not result.text and not may_be_empty:
        raise broken_rule("message text is empty")
    if utf16_length(result.text) > limit:
        raise broken_rule("message is too long" if limit == MESSAGE_LIMIT else "message caption is too long")
    return result


def person_text(text: str, entities: list[Entity]) -> FormattedText:
    """What a person typed: trimmed and with mentions, commands and links detected."""
    return _detected(_trimmed(FormattedText(text, _checked_entities(text, entities))))


def _parsed(text: str, parse_mode: str) -> FormattedText:
    parser = _PARSERS.get(parse_mode.lower())
    if parser is None:
        raise broken_rule("unsupported parse_mode")
    try:
        result = parser(text)
    except ParseError as error:
        raise broken_rule(f"can't parse entities: {error}") from None
    return FormattedText(result.text, _checked_entities(result.text, result.entities))


def _checked_entities(text: str, entities: list[Entity]) -> list[Entity]:
    if len(entities) > _ENTITY_LIMIT:
        raise broken_rule(f"can't parse entities: more than {_ENTITY_LIMIT} entities")
    if not entities:
        return []
    units = text.encode("utf-16-le")
    for entity in entities:
        _check_fields(entity)
        _check_place(entity, units)
    ordered = sorted(entities, key=lambda entity: (entity["offset"], -entity["length"]))
    _check_nesting(ordered)
    return ordered


def _check_fields(entity: Entity) -> None:
    kind = entity["type"]
    if kind not in _KINDS:
        raise broken_rule(f"can't parse entities: unsupported entity type {kind}")
    required = _REQUIRED_FIELDS.get(kind, set())
    allowed = required | _OPTIONAL_FIELDS.get(kind, set()) | {"type", "offset", "length"}
    if required - entity.keys() or entity.keys() - allowed:
        raise broken_rule(f"can't parse entities: wrong fields in an entity of type {kind}")


def _check_place(entity: Entity, units: bytes) -> None:
    start, end = entity["offset"], entity["offset"] + entity["length"]
    if start < 0 or entity["length"] <= 0 or end * 2 > len(units):
        raise broken_rule(f"can't parse entities: entity at UTF-16 offset {start} lies outside the text")
    for edge in (start, end):
        if edge * 2 < len(units) and 0xDC <= units[edge * 2 + 1] <= 0xDF:
            raise broken_rule(f"can't parse entities: UTF-16 offset {edge} is in the middle of a surrogate pair")


def _check_nesting(ordered: list[Entity]) -> None:
    open_entities: list[Entity] = []
    for entity in ordered:
        start, end = entity["offset"], entity["offset"] + entity["length"]
        while open_entities and open_entities[-1]["offset"] + open_entities[-1]["length"] <= start:
            open_entities.pop()
        for outer in open_entities:
            if end > outer["offset"] + outer["length"]:
                raise broken_rule(f"can't parse entities: entities overlap at UTF-16 offset {start}")
            _check_pair(outer["type"], entity["type"], start)
        open_entities.append(entity)


def _check_pair(outer: str, inner: str, start: int) -> None:
    code = outer in _CODE or (inner in _CODE and outer not in _QUOTES)
    quote = outer in _QUOTES and inner in _QUOTES
    if code or quote or outer == inner:
        raise broken_rule(f"can't parse entities: {inner} can't be part of {outer} at UTF-16 offset {start}")


def _trimmed(formatted_text: FormattedText) -> FormattedText:
    """Without white space around, as the server stores it; entities are cut and moved with the text."""
    text = formatted_text.text.rstrip()
    leading = len(text) - len(text.lstrip())
    cut = min([leading, *(entity["offset"] for entity in formatted_text.entities)])
    text = text[cut:]
    end = utf16_length(text)
    moved = ({**entity, "offset": entity["offset"] - cut} for entity in formatted_text.entities)
    kept = [{**entity, "length": min(entity["length"], end - entity["offset"])} for entity in moved]
    return FormattedText(text, [entity for entity in kept if entity["length"] > 0])


def _detected(formatted_text: FormattedText) -> FormattedText:
    """With the entities the server finds by itself, outside code and links."""
    text = formatted_text.text
    if not any(mark in text for mark in "/@#"):
        return formatted_text
    taken = [
        (entity["offset"], entity["offset"] + entity["length"])
        for entity in formatted_text.entities
        if entity["type"] in _CODE | {"text_link", "text_mention", "mention", "url", "bot_command", "email", "hashtag"}
    ]
    found = list(formatted_text.entities)
    for kind, pattern in _DETECTED:
        for match in pattern.finditer(text):
            start = utf16_length(text[: match.start()])
            end = start + utf16_length(match.group())
            if all(end <= other_start or start >= other_end for other_start, other_end in taken):
                taken.append((start, end))
                found.append({"type": kind, "offset": start, "length": end - start})
    return FormattedText(text, sorted(found, key=lambda entity: (entity["offset"], -entity["length"])))
