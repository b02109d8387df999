"""UTF-16 code units, in which Telegram counts, and text with its entities."""

from dataclasses import dataclass
from typing import Any


class ParseError(Exception):
    """A text that does not follow its parse mode."""


@dataclass(frozen=True, slots=True)
class FormattedText:
    """A text without markup; its entities' offsets and lengths are UTF-16 code units."""

    text: str
    entities: list[dict[str, Any]]


def utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


class TextBuilder:
    """Collects text and, with it, the entities opened and closed on the way."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._entities: list[dict[str, Any]] = []
        self.length = 0

    def add(self, text: str) -> None:
        self._parts.append(text)
        self.length += utf16_length(text)

    def close(self, start: int, kind: str, **fields: Any) -> None:
        """An entity from `start` to here; an empty one is forgotten, as the server does."""
        if self.length > start:
            self._entities.append({"type": kind, "offset": start, "length": self.length - start, **fields})

    def formatted(self) -> FormattedText:
        return FormattedText("".join(self._parts), self._entities)
