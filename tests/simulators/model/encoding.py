"""The answer's wire form: server-sent events, one per token, cheap enough to feed many chats."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import orjson

DONE = b"data: [DONE]\n\n"
_TOKEN = re.compile(r"\s*\S+|\s+$")
_ARGUMENT_SLICE = 12


def tokens(text: str) -> list[str]:
    """Words with the white space before them; joined they are the text."""
    return _TOKEN.findall(text)


@lru_cache(maxsize=4096)
def _json(text: str) -> bytes:
    return orjson.dumps(text)


class ChunkEncoder:
    """Encodes the chunks of one answer; what is the same in each is built once."""

    def __init__(self, identity: str, model: str, created: int) -> None:
        head = orjson.dumps({"id": identity, "object": "chat.completion.chunk", "created": created, "model": model})
        self._head = b"data: " + head[:-1]
        self._text_head = self._head + b',"choices":[{"index":0,"delta":{"content":'
        self._text_tail = b'},"finish_reason":null}]}\n\n'

    def text(self, token: str) -> bytes:
        return self._text_head + _json(token) + self._text_tail

    def delta(self, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        return self._head + b',"choices":' + orjson.dumps(choices) + b"}\n\n"

    def usage(self, usage: dict[str, int]) -> bytes:
        return self._head + b',"choices":[],"usage":' + orjson.dumps(usage) + b"}\n\n"

    def tool_call(self, index: int, call: dict[str, Any]) -> Iterator[bytes]:
        """The call's name in one chunk, its arguments in several."""
        function = {"name": call["function"]["name"], "arguments": ""}
        yield self.delta({"tool_calls": [{**call, "index": index, "function": function}]})
        arguments = call["function"]["arguments"]
        for begin in range(0, len(arguments), _ARGUMENT_SLICE):
            piece = {"arguments": arguments[begin : begin + _ARGUMENT_SLICE]}
            yield self.delta({"tool_calls": [{"index": index, "function": piece}]})
