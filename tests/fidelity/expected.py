"""What a person must get to see of a Markdown text, by another parser than ours: GitHub's cmark-gfm."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

_SHOWN_AS = {
    "strong": "strong", "em": "em", "del": "del", "code": "code", "a": "a", "blockquote": "blockquote",
    **{f"h{level}": "strong" for level in range(1, 7)},
}  # fmt: skip
_EXTENSIONS = ["table", "strikethrough", "tasklist"]
_MATH = re.compile(
    r"\\\(.+?\\\)|\\\[(?:(?!\n\s*\n).)*?\\\](?!\()|\$\$.+?\$\$|(?<![\\$\w])\$(?![\s\d$])[^$\n]*?(?<![\s\\])\$(?![\w$])",
    re.DOTALL,
)
_CODE = re.compile(
    r"^( {0,3})(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\2|\Z)|(`+)(?!`).+?(?<!`)\3(?!`)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Piece:
    """A stretch of text with nothing in between: what surrounds it, outermost first, and where it stands."""

    text: str
    inside: tuple[str, ...]
    urls: tuple[str, ...] = ()
    row: int | None = None


@dataclass
class Expected:
    """All that is to be shown of a text, each in the order of the text."""

    pieces: list[Piece] = field(default_factory=list)
    fences: list[tuple[str, str]] = field(default_factory=list)  # (code, language)
    urls: list[str] = field(default_factory=list)
    boxes: list[bool] = field(default_factory=list)
    numbers: list[tuple[int, int]] = field(default_factory=list)  # (an item's number, its first piece)


def expected(source: str) -> Expected:
    """What must be shown. Raw HTML is not in it (another check sees that it is shown as it was written)."""
    reader = _Reader()
    options = Options.CMARK_OPT_STRIKETHROUGH_DOUBLE_TILDE
    html = cmarkgfm.markdown_to_html_with_extensions(_with_math_as_text(source), options, _EXTENSIONS)
    reader.feed(html)
    reader.close()
    return reader.found


def _with_math_as_text(source: str) -> str:
    """Formulas stand on the screen as they were written, so for the other parser every sign in them is escaped."""
    parts, at = [], 0
    for code in _CODE.finditer(source):
        parts += [_MATH.sub(_escaped, source[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _MATH.sub(_escaped, source[at:])])


def _escaped(formula: re.Match[str]) -> str:
    if formula[0].startswith("\\[") and not set(formula[0][2:-2]) & set("\\^_={}"):
        return formula[0]  # brackets that were escaped
    return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", formula[0])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Expected()
        self._inside: list[str] = []
        self._urls: list[str] = []
        self._lists: list[int | None] = []
        self._row = -1
        self._fence: list[str] | None = None
        self._language = ""

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in _SHOWN_AS or tag in {"pre", "td", "th"}:
            self._inside.append(tag)
        match tag:
            case "a":
                self._urls.append(values.get("href", ""))
                self.found.urls += [values["href"]] if values.get("href") else []
            case "img":
                self._image(values)
            case "pre":
                self._fence, self._language = [], ""
            case "code" if self._fence is not None:
                self._language = values.get("class", "").removeprefix("language-")
            case "tr":
                self._row += 1
            case "ol" | "ul":
                self._lists.append(int(values.get("start", 1)) if tag == "ol" else None)
            case "li":
                self._item()
            case "input":
                self.found.boxes.append("checked" in values)

    def handle_endtag(self, tag: str) -> None:
        if tag in {"ol", "ul"}:
            self._lists.pop()
        if tag == "a":
            self._urls.pop()
        if tag == "pre" and self._fence is not None:
            code = "".join(self._fence)
            self.found.fences.append((code.removesuffix("\n"), self._language))
            self._fence = None
            self._piece(code)
        if tag in self._inside:
            self._inside.remove(tag) if tag == "pre" else self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._fence is not None:
            self._fence.append(data)
            return
        for line in data.split("\n"):
            self._piece(line)

    def _piece(self, text: str) -> None:
        if text.strip():
            row = self._row if {"td", "th"} & set(self._inside) else None
            self.found.pieces.append(Piece(text.strip(), tuple(self._inside), tuple(self._urls), row))

    def _image(self, values: dict[str, str]) -> None:
        self._piece(values.get("alt", ""))
        self.found.urls += [values["src"]] if values.get("src") else []

    def _item(self) -> None:
        number = self._lists[-1]
        if number is not None:
            self.found.numbers.append((number, len(self.found.pieces)))
            self._lists[-1] = number + 1


def shown_as(tag: str) -> str | None:
    """The mark an element must carry on the screen; None for those that are shown by their place."""
    return _SHOWN_AS.get(tag)
