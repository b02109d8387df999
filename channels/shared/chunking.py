"""Split a text at a platform's limit, in the platform's own units, where it hurts least."""

import re
import unicodedata

from channels.contract import TextUnit

_BREAKS = ((re.compile(r"\n[ \t]*\n"), 0.5), (re.compile(r"\n"), 0.3), (re.compile(r"\s"), 0.0))
_WIDEST = {TextUnit.CODEPOINTS: 1, TextUnit.UTF16: 2, TextUnit.BYTES: 4}
_FENCE = re.compile(r"^\s*(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)$")
_ZERO_WIDTH_JOINER = "\u200d"
_LONGEST_GRAPHEME = 32


def measure(text: str, unit: TextUnit) -> int:
    """How long the platform thinks the text is."""
    match unit:
        case TextUnit.CODEPOINTS:
            return len(text)
        case TextUnit.UTF16:
            return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
        case TextUnit.BYTES:
            return len(text.encode(errors="surrogatepass"))


def split(text: str, limit: int, unit: TextUnit) -> list[str]:
    """Pieces of at most `limit` units that together are the whole text.

    They end at a paragraph if one ends in their second half, else at a line, a word, a whole character as people see it.
    """
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = piece_end(text, start, limit, unit)
        pieces.append(text[start:end])
        start = end
    return pieces


def piece_end(text: str, start: int, limit: int, unit: TextUnit) -> int:
    """Where the piece that begins at `start` ends best; what comes later in the text does not matter to it."""
    end = start + len(_longest_prefix(text[start : start + limit], limit, unit))
    return end if end >= len(text) else best_end(text, start, end)


def split_markdown(source: str, limit: int, unit: TextUnit) -> list[str]:
    """Pieces of a Markdown text; a fence that goes on is closed in one piece and opened again, with its language, in the next."""
    pieces: list[str] = []
    opened = ""
    rest = source
    while rest:
        whole = _closed(opened, rest, "")
        if measure(whole, unit) <= limit:
            pieces.append(whole)
            break
        piece, still_open = _first_piece(rest, opened, limit, unit)
        pieces.append(_closed(opened, piece, still_open))
        rest = rest[len(piece) :]
        opened = still_open
    return pieces


def _first_piece(rest: str, opened: str, limit: int, unit: TextUnit) -> tuple[str, str]:
    """As much as fits together with the marks that are needed around it, and the fence line that is open behind it."""
    room = limit - (measure(opened, unit) + 1 if opened else 0)
    while True:
        piece = split(rest, max(room, _WIDEST[unit]), unit)[0] if room < limit else split(rest, limit, unit)[0]
        still_open = _open_fence(piece, opened)
        surplus = measure(_closed(opened, piece, still_open), unit) - limit
        if surplus <= 0 or room <= _WIDEST[unit]:
            return piece, still_open
        room = measure(piece, unit) - surplus


def _closed(opened: str, piece: str, still_open: str) -> str:
    before = f"{opened}\n" if opened else ""
    if not still_open:
        return before + piece
    found = _FENCE.match(still_open)
    marks = found["marks"] if found else "```"
    return f"{before}{piece}{'' if piece.endswith(chr(10)) else chr(10)}{marks}"


def _open_fence(piece: str, opened: str) -> str:
    """The line that opened the fence in which the piece ends, or nothing."""
    for line in piece.split("\n"):
        found = _FENCE.match(line)
        if found is None:
            continue
        if not opened:
            opened = line.strip()
        elif line.strip().startswith(_marks(opened)) and not found["info"].strip():
            opened = ""
    return opened


def _marks(fence_line: str) -> str:
    found = _FENCE.match(fence_line)
    return found["marks"] if found else fence_line


def _longest_prefix(text: str, limit: int, unit: TextUnit) -> str:
    while (surplus := measure(text, unit) - limit) > 0 and len(text) > 1:
        text = text[: -max(1, surplus // _WIDEST[unit])]
    return text


def best_end(text: str, start: int, end: int) -> int:
    """The best place to cut behind `start`, at `end` or before it."""
    for pattern, least_fill in _BREAKS:
        earliest = start + int((end - start) * least_fill)
        last = _last_match_end(pattern, text, earliest, end)
        if last is not None and last > start:
            return last
    return _whole_character_end(text, start, end)


def _last_match_end(pattern: re.Pattern[str], text: str, earliest: int, end: int) -> int | None:
    last = None
    for found in pattern.finditer(text, earliest, end):
        last = found.end()
    return last


def _whole_character_end(text: str, start: int, end: int) -> int:
    for candidate in range(end, max(start, end - _LONGEST_GRAPHEME), -1):
        if not _joins(text, candidate):
            return candidate
    return end


def _joins(text: str, at: int) -> bool:
    """Whether the characters on both sides of a place are seen as one (UAX 29, its frequent rules)."""
    before, after = text[at - 1], text[at]
    if _ZERO_WIDTH_JOINER in {before, after}:
        return True
    if unicodedata.category(after) in {"Mn", "Me", "Mc"} or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if before == "\r" and after == "\n":
        return True
    return _is_flag_letter(before) and _is_flag_letter(after) and _flag_letters_before(text, at) % 2 == 1


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    count = 0
    while count < at and _is_flag_letter(text[at - 1 - count]):
        count += 1
    return count
