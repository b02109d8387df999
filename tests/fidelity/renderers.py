"""The platforms the corpus is rendered for, by name: the real renderer, and what the platform makes of its payloads."""

from collections.abc import Mapping, Sequence

from channels.contract import Reply, ReplyPhase, Text
from channels.telegram.render import TEXT_LIMIT, render
from tests.fidelity.shown import Kind, Message, NotTaken, Renderer, Span
from tests.simulators.telegram.errors import Refused
from tests.simulators.telegram.texts import formatted

_KINDS: Mapping[str, Kind] = {
    "bold": "strong", "italic": "em", "strikethrough": "del", "code": "code", "pre": "pre", "text_link": "a",
    "blockquote": "blockquote", "expandable_blockquote": "blockquote",
}  # fmt: skip


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


RENDERERS: Mapping[str, Renderer] = {
    "telegram": Renderer(
        on_telegram,
        _is_live_on_telegram,
        tables_are_code=True,
        names_are_code=True,
        unmarked_in_links=frozenset({"code"}),
    ),
}
