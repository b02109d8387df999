"""Parses parse_mode MarkdownV2 strictly: every reserved character is markup or escaped."""

import re
from dataclasses import dataclass

from .utf16 import FormattedText, ParseError, TextBuilder

_RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
_MARKS = {"__": "underline", "||": "spoiler", "*": "bold", "_": "italic", "~": "strikethrough"}
_FENCE_LANGUAGE = re.compile(r"([^\s`]*)\n")


@dataclass(frozen=True, slots=True)
class _Opened:
    mark: str
    start: int
    offset: int


def parse_markdown(source: str) -> FormattedText:
    """Text and entities of `source`; raises `ParseError` as the server words it."""
    return _Parser(source).parsed()


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._builder = TextBuilder()
        self._open: list[_Opened] = []
        self._quote_start: int | None = None
        self._quote_kind = "blockquote"

    def parsed(self) -> FormattedText:
        while self._at < len(self._source):
            if self._at == 0 or self._source[self._at - 1] == "\n":
                self._line_begins()
                if self._at >= len(self._source):
                    break
            self._step()
        self._end_quote()
        if self._open:
            opened = self._open[-1]
            kind = "Textlink" if opened.mark == "[" else _MARKS.get(opened.mark, "emoji").capitalize()
            raise ParseError(f"Can't find end of {kind} entity at byte offset {self._bytes(opened.offset)}")
        return self._builder.formatted()

    def _line_begins(self) -> None:
        for mark, kind in (("**>", "expandable_blockquote"), (">", "blockquote")):
            if self._source.startswith(mark, self._at):
                if self._quote_start is None or mark == "**>":
                    self._end_quote()
                    self._quote_start, self._quote_kind = self._builder.length, kind
                self._at += len(mark)
                return
        self._end_quote()

    def _end_quote(self) -> None:
        if self._quote_start is not None:
            self._builder.close(self._quote_start, self._quote_kind)
            self._quote_start = None

    def _step(self) -> None:
        source, at = self._source, self._at
        character = source[at]
        if character == "\\" and at + 1 < len(source) and ord(source[at + 1]) < 127:
            self._plain(source[at + 1], 2)
        elif character == "`":
            self._code("```" if source.startswith("```", at) else "`")
        elif character == "[" or source.startswith("![", at):
            bracket = "[" if character == "[" else "!["
            self._open.append(_Opened(bracket, self._builder.length, at))
            self._at += len(bracket)
        elif character == "]" and self._open and self._open[-1].mark in {"[", "!["}:
            self._link(self._open.pop())
        elif (toggled := self._mark()) is not None:
            self._toggle(toggled)
        elif character in _RESERVED:
            raise ParseError(f"Character '{character}' is reserved and must be escaped with the preceding '\\'")
        else:
            self._plain(character, 1)

    def _plain(self, text: str, consumed: int) -> None:
        self._builder.add(text)
        self._at += consumed

    def _mark(self) -> str | None:
        return next((mark for mark in _MARKS if self._source.startswith(mark, self._at)), None)

    def _toggle(self, mark: str) -> None:
        at_line_end = self._source[self._at + len(mark) : self._at + len(mark) + 1] in {"", "\n"}
        spoiler_open = any(opened.mark == "||" for opened in self._open)
        if mark == "||" and self._quote_start is not None and at_line_end and not spoiler_open:
            self._quote_kind = "expandable_blockquote"
        elif self._open and self._open[-1].mark == mark:
            self._builder.close(self._open.pop().start, _MARKS[mark])
        elif any(opened.mark == mark for opened in self._open):
            opened = self._open[-1]
            raise ParseError(
                f"Can't find end of {_MARKS.get(opened.mark, 'Textlink').capitalize()} entity "
                f"at byte offset {self._bytes(opened.offset)}"
            )
        else:
            self._open.append(_Opened(mark, self._builder.length, self._at))
        self._at += len(mark)

    def _code(self, fence: str) -> None:
        begun, start, language = self._at, self._builder.length, ""
        self._at += len(fence)
        if fence == "```" and (match := _FENCE_LANGUAGE.match(self._source, self._at)):
            language, self._at = match[1], match.end()
        while not self._source.startswith(fence, self._at):
            if self._at >= len(self._source):
                kind = "Pre" if fence == "```" else "Code"
                raise ParseError(f"Can't find end of {kind} entity at byte offset {self._bytes(begun)}")
            escaped = self._source[self._at] == "\\" and self._source[self._at + 1 : self._at + 2] in {"`", "\\"}
            self._plain(self._source[self._at + escaped], 1 + escaped)
        self._at += len(fence)
        fields = {"language": language} if language else {}
        self._builder.close(start, "pre" if fence == "```" else "code", **fields)

    def _link(self, opened: _Opened) -> None:
        self._at += 1
        target = re.compile(r"\(((?:\\.|[^)\\])*)\)").match(self._source, self._at)
        if target is None:
            raise ParseError("Character ']' is reserved and must be escaped with the preceding '\\'")
        self._at = target.end()
        url = re.sub(r"\\(.)", r"\1", target[1])
        if opened.mark == "![":
            self._builder.close(opened.start, "custom_emoji", custom_emoji_id=url.rpartition("id=")[2])
        else:
            self._builder.close(opened.start, "text_link", url=url)

    def _bytes(self, position: int) -> int:
        return len(self._source[:position].encode())
