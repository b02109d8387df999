"""Decodes server-sent events (WHATWG HTML §9.2), as far as chat completions use them."""

from __future__ import annotations

from typing import Final

_LARGEST_EVENT_BYTES: Final = 16 * 1024 * 1024


class EventTooLarge(ValueError):
    """An event that grew beyond 16 MiB: no chat completion, and no reason to fill the memory."""


class EventDecoder:
    """Turns bytes, however the network cut them, into the data of whole events.

    Lines end in LF or CRLF; comments and every field but `data` are passed over.
    """

    def __init__(self) -> None:
        self._line_start: list[bytes] = []
        self._data: list[bytes] = []
        self._held_bytes = 0

    def feed(self, received: bytes) -> list[bytes]:
        """Take what has arrived and give the events that are whole now; raises `EventTooLarge`."""
        self._held_bytes += len(received)
        if self._held_bytes > _LARGEST_EVENT_BYTES:
            raise EventTooLarge(f"an event of more than {_LARGEST_EVENT_BYTES} bytes")
        *lines, rest = received.split(b"\n")
        if not lines:
            self._line_start.append(rest)
            return []
        lines[0] = b"".join((*self._line_start, lines[0]))
        events: list[bytes] = []
        for line in lines:
            self._take_line(line, events)
        self._line_start = [rest]
        self._held_bytes = len(rest) + sum(map(len, self._data))
        return events

    def finish(self) -> list[bytes]:
        """Give the event that the end of the stream cut short of its empty line, if there is one."""
        return self.feed(b"\n\n")

    def _take_line(self, line: bytes, events: list[bytes]) -> None:
        line = line.removesuffix(b"\r")
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            if event := b"\n".join(self._data):  # one without data is none: some servers keep a connection alive so
                events.append(event)
            self._data = []
