"""The platforms the corpus is rendered for, by name: the real renderer, and what the platform makes of its payloads."""

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser

from channels.contract import Reply, ReplyPhase, Text
from channels.telegram.render import TEXT_LIMIT, render
from channels.web.markup import to_html
from tests.fidelity.shown import Kind, Message, NotTaken, Renderer, Span
from tests.simulators.telegram.errors import Refused
from tests.simulators.telegram.texts import formatted

_KINDS: Mapping[str, Kind] = {
    "bold": "strong", "italic": "em", "strikethrough": "del", "code": "code", "pre": "pre", "text_link": "a",
    "blockquote": "blockquote", "expandable_blockquote": "blockquote",
}  # fmt: skip
_MARKS: Mapping[str, Kind] = {
    "strong": "strong", "em": "em", "s": "del", "code": "code", "a": "a", "blockquote": "blockquote",
    **{f"h{level}": "strong" for level in range(1, 7)},
}  # fmt: skip
_BLOCKS = {"p", "br", "hr", "pre", "blockquote", "li", "tr", *(f"h{level}" for level in range(1, 7))}


def on_telegram(markdown: str) -> Sequence[Message]:
    """The messages as the Bot API would store them."""
    payloads = render(Reply((Text("m", markdown),), ReplyPhase.FINAL)).texts
    try:
        taken = [
            formatted(
                payload.content.text, None, list(payload.content.entities()), limit=TEXT_LIMIT, may_be_empty=False
            )
            for payload in payloads
        ]
    except Refused as refusal:
        raise NotTaken(refusal.description) from refusal
    return [stored_message(message.text, message.entities) for message in taken]


def stored_message(text: str, entities: Sequence[Mapping[str, object]]) -> Message:
    """A message as Telegram has it, in characters instead of UTF-16 units."""
    units = text.encode("utf-16-le")

    def character(offset: int) -> int:
        return len(units[: offset * 2].decode("utf-16-le"))

    spans = []
    for entity in entities:
        if kind := _KINDS.get(str(entity["type"])):
            start, length = int(str(entity["offset"])), int(str(entity["length"]))
            url, language = str(entity.get("url") or ""), str(entity.get("language") or "")
            spans.append(Span(kind, character(start), character(start + length), url, language))
    return Message(text, spans)


def _is_live_on_telegram(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def on_the_page(markdown: str) -> Sequence[Message]:
    """The page's HTML as a browser shows it: one message."""
    browser = _Browser()
    browser.feed(to_html(markdown))
    browser.close()
    return [Message("".join(browser.parts), browser.spans)]


class _Browser(HTMLParser):
    """Text and marks of HTML; numbers, bullets and boxes as a browser draws them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.spans: list[Span] = []
        self._length = 0
        self._open: list[tuple[str, int, dict[str, str | None]]] = []
        self._lists: list[int | None] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in {"ol", "ul"}:
            self._lists.append(int(values.get("start") or 1) if tag == "ol" else None)
        if tag in _BLOCKS:
            self._draw("\n")
        if tag == "li":
            number = self._lists[-1]
            self._draw("• " if number is None else f"{number}. ")
            self._lists[-1] = None if number is None else number + 1
        if tag == "input":
            self._draw("☑ " if "checked" in values else "☐ ")
        if tag not in {"br", "hr", "input"}:
            self._open.append((tag, self._length, values))

    def handle_endtag(self, tag: str) -> None:
        opened, start, values = self._open.pop()
        if tag in {"ol", "ul"}:
            self._lists.pop()
        if opened == "code" and self._open and self._open[-1][0] == "pre":
            language = (values.get("class") or "").removeprefix("language-")
            self.spans.append(Span("pre", start, self._length - 1, language=language))
        elif kind := _MARKS.get(opened):
            self.spans.append(Span(kind, start, self._length, url=values.get("href") or ""))

    def handle_data(self, data: str) -> None:
        is_between = data.isspace() and self._open and self._open[-1][0] in {"tr", "thead", "tbody", "table"}
        self._draw(" " if is_between else data)

    def _draw(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)


def _is_live_on_the_page(url: str) -> bool:
    return url.startswith(("http://", "https://", "mailto:"))


RENDERERS: Mapping[str, Renderer] = {
    "telegram": Renderer(
        on_telegram,
        _is_live_on_telegram,
        tables_are_code=True,
        names_are_code=True,
        unmarked_in_links=frozenset({"code"}),
    ),
    "web": Renderer(on_the_page, _is_live_on_the_page),
}
