"""What of a Markdown text did not reach the screen."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from urllib.parse import unquote

from tests.fidelity.expected import Expected, Piece, expected, shown_as
from tests.fidelity.shown import NotTaken, Renderer, Screen, ink

_SIGNS_OF_OURS = frozenset("•◦▪☐☑⎯✓…")
_MARKER = re.compile(r"^([\s>*+\-|•◦▪☐☑]*)(\d{1,9})(?=\\?[.)](?:\s|$))", re.MULTILINE)
_TASK = re.compile(r"^([\s>]*(?:(?:[*+\-•◦▪]|\d{1,9}[.)]|\s+[.)])\s+)+)\[[xX ]\](?=\s|$)", re.MULTILINE)
_INFO = re.compile(r"^([\s>*+\-]*[`~]{3,})[ \t]*(\S+)[ \t]+([^\n`]+)$", re.MULTILINE)
_ENTITY = re.compile(r"&(?:#[xX]?[0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_LANGUAGE = re.compile(r"^[\s>*+\-\d.)]*(?:`{3,}|~{3,})[ \t]*([^\s`]+)", re.MULTILINE)
_LABEL = re.compile(r"(?<=\])\[[^\]\n]*\]|^[ >]*\[[^\]\n]+\]:", re.MULTILINE)
_DEFINITION = re.compile(r"^[ >]*\[[^\]\n]+\]:\s*\S", re.MULTILINE)
_PUNYCODE = re.compile(r"xn--[a-z0-9-]+")
_CONTEXT = 40

Place = tuple[int, int]


@dataclass
class Findings:
    """How many things were looked for, and what was not found of them."""

    looked_for: int = 0
    lost: list[str] = field(default_factory=list)

    @property
    def score(self) -> float:
        """From 0 to 1."""
        return 1 - min(len(self.lost), self.looked_for) / self.looked_for if self.looked_for else 1.0

    def note(self, what: str, *, found: bool) -> None:
        """Count one thing."""
        self.looked_for += 1
        if not found:
            self.lost.append(what)


def compare(source: str, renderer: Renderer) -> Findings:
    """Everything that must be on the screen, and whether it is."""
    findings = Findings()
    try:
        screen = Screen(renderer.show(source))
    except NotTaken as refusal:
        findings.note(f"refused: {refusal}", found=False)
        return findings
    _characters(source, screen, findings)
    wanted = expected(source)
    places = _pieces(wanted, screen, findings)
    for piece, place in zip(wanted.pieces, places, strict=True):
        if place is not None:
            _marks(piece, place, screen, renderer, findings)
    _rows(wanted, places, screen, findings)
    _numbers(wanted, places, screen, findings)
    _urls(wanted, screen, findings)
    _fences(wanted, screen, findings)
    boxes = [sign == renderer.boxes[1] for sign in screen.ink if sign in renderer.boxes]
    findings.note(f"task boxes: {wanted.boxes}, shown {boxes}", found=boxes == wanted.boxes)
    return findings


def losses_of_characters(source: str, renderer: Renderer) -> list[str]:
    """The first check alone, which asks no other parser: whatever was written, finished or not."""
    findings = Findings()
    _characters(source, Screen(renderer.show(source)), findings)
    return findings.lost


def _characters(source: str, screen: Screen, findings: Findings) -> None:
    """What the text says in letters, digits and signs beyond ASCII is shown once and in order.

    Addresses and names of languages may stand beside the text. Where links are defined elsewhere, order is not asked for.
    """
    if _DEFINITION.search(source):
        shown = "".join(text for text, _ in _told(screen))
        for word in dict.fromkeys(re.findall(r"\w{2,}", _unescaped(_LABEL.sub(" ", _without_numbers(source))))):
            findings.note(f"the word {word!r}", found=_letters(word) in shown)
        return
    said = _letters(_without_numbers(_INFO.sub(r"\1\3 \2", source)))
    languages = [name for name in map(_letters, _LANGUAGE.findall(source)) if name]
    difference = _mismatch(said, screen, languages)
    findings.looked_for += len(said)
    findings.note(f"characters: {difference}", found=difference is None)


def _mismatch(said: str, screen: Screen, languages: list[str]) -> str | None:
    """Where the screen first says something else, or None. The language of a block without code yet is nothing to be seen."""
    at = 0
    for text, is_beside in _told(screen):
        if said.startswith(text, at):
            at += len(text)
        elif not is_beside:
            return _difference(said, at, text)
    missing = said[at:]
    return f"{missing[: 2 * _CONTEXT]!r} at the end is missing" if missing not in {"", *languages[-1:]} else None


def _difference(said: str, at: int, shown: str) -> str:
    same = next((n for n, (a, b) in enumerate(zip(said[at:], shown, strict=False)) if a != b), 0)
    said_on, shown_on = said[at + same :][:_CONTEXT], shown[same:][:_CONTEXT]
    return f"after {said[max(0, at + same - _CONTEXT) : at + same]!r} comes {said_on!r}, shown is {shown_on!r}"


def _told(screen: Screen) -> Iterator[tuple[str, bool]]:
    """The letters of the screen, and (True) those that a mark holds beside the text."""
    for message in screen.messages:
        beside = [
            (span.end, span.url)
            for span in message.spans
            if span.url and _letters(span.url) != _letters(message.text[span.start : span.end])
        ]
        beside += [(span.start, span.language) for span in message.spans if span.language]
        text, at = _without_numbers(message.text), 0
        for place, held in sorted(beside, key=lambda found: found[0]):
            yield _letters(text[at:place]), False
            yield _letters(held), True
            at = place
        yield _letters(text[at:]), False


def _without_numbers(text: str) -> str:
    """The text with blanks for numbers of list items (they are counted anew) and for boxes of tasks."""
    text = _MARKER.sub(lambda found: found[1] + " " * len(found[2]), text)
    return _TASK.sub(lambda found: found[0][:-3] + "   ", text)


def _letters(text: str) -> str:
    kept = (c for c in _unescaped(text) if c.isalnum() or (c > "\x7f" and not c.isspace() and c not in _SIGNS_OF_OURS))
    return "".join(kept)


def _unescaped(text: str) -> str:
    """Without the escapes that a text and an address may be written in."""
    while (plain := unquote(_ENTITY.sub(lambda found: html.unescape(found[0]), text))) != text:
        text = plain
    return _PUNYCODE.sub(lambda found: found[0].encode().decode("idna"), text)


def _pieces(wanted: Expected, screen: Screen, findings: Findings) -> list[Place | None]:
    """Where each stretch of text stands: in order, with every sign it has."""
    places: list[Place | None] = []
    at = 0
    for piece in wanted.pieces:
        sought = ink(piece.text)
        start = screen.ink.find(sought, at)
        findings.note(f"text {piece.text[:90]!r}", found=start >= 0)
        places.append((start, start + len(sought)) if start >= 0 else None)
        at = start + len(sought) if start >= 0 else at
    return places


def _marks(piece: Piece, place: Place, screen: Screen, renderer: Renderer, findings: Findings) -> None:
    """Bold is bold, a link is a link, and code is nothing else."""
    is_in_table, is_code = piece.row is not None, "code" in piece.inside
    kinds = {kind for tag in piece.inside if (kind := shown_as(tag)) is not None}
    if is_in_table and renderer.tables_are_code:
        kinds = {"pre"}
    elif is_code or (renderer.names_are_code and "@" in piece.text):
        kinds &= {"code", "a", "blockquote"}
    if "a" in kinds:
        kinds -= renderer.unmarked_in_links
        kinds -= set() if any(map(renderer.is_live, piece.urls)) else {"a"}
    for kind in kinds:
        findings.note(f"{kind} of {piece.text[:90]!r}", found=screen.covers(*place, kind))


def _rows(wanted: Expected, places: list[Place | None], screen: Screen, findings: Findings) -> None:
    """The cells of a row share a line, and only they."""
    cells = [(piece.row, place) for piece, place in zip(wanted.pieces, places, strict=True) if piece.row is not None]
    before = -1
    for row, group in groupby(cells, key=lambda cell: cell[0]):
        lines = {screen.lines[place[0]] for _, place in group if place is not None}
        findings.note(f"row {row} is on the lines {lines}", found=len(lines) == 1 and before not in lines)
        before = max(lines, default=before)


def _numbers(wanted: Expected, places: list[Place | None], screen: Screen, findings: Findings) -> None:
    """Items of ordered lists have their numbers in front."""
    for number, index in wanted.numbers:
        place = places[index] if index < len(places) else None
        if place is not None:
            before = max((end for _, end in filter(None, places[:index])), default=0)
            in_front = screen.ink[before : place[0]]
            findings.note(f"number {number}", found=re.search(rf"(?<!\d){number}[.)]", in_front) is not None)


def _urls(wanted: Expected, screen: Screen, findings: Findings) -> None:
    shown = {_unescaped(span.url) for _, _, span in screen.marked}
    text = ink(_unescaped(screen.ink))
    for url in map(_unescaped, wanted.urls):
        in_text = ink(url.removeprefix("mailto:")) in text
        findings.note(f"address {url!r}", found=url in shown or in_text)


def _fences(wanted: Expected, screen: Screen, findings: Findings) -> None:
    """Blocks of code, byte for byte, with their language, be it in several messages."""
    blocks = [
        (message.text[span.start : span.end], span.language)
        for message in screen.messages
        for span in message.spans
        if span.kind == "pre"
    ]
    for code, language in wanted.fences:
        if code.strip():
            end = next((end for start in range(len(blocks)) if (end := _code_ends(code, language, blocks, start))), 0)
            findings.note(f"code {code[:90]!r} in {language!r}", found=end > 0)
            blocks = blocks[end:]


def _code_ends(code: str, language: str, blocks: list[tuple[str, str]], at: int) -> int:
    """The number of the block behind those that are this code, beginning with block `at`; 0 if they are not."""
    block = blocks[at][0]
    while blocks[at][1] == language and code.startswith(block):
        code = code.removeprefix(block).lstrip("\n")  # where a message ends, its last line ends
        at += 1
        if not code.strip():
            return at
        if at == len(blocks):
            return 0
        block = blocks[at][0].lstrip("\n")
    return 0
