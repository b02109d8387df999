"""How long a model's stream is left unread, so that a slow one wakes the program less often."""

from __future__ import annotations

from typing import Final

_CHUNKS_A_READ: Final = 2
_WORTH_IT_SECONDS: Final = 0.002


class ReadingPace:
    """Learns how fast chunks come; a pause is as long as two of them take, at most `longest_seconds`.

    A wake-up costs the same whether it brings one token or three. The end of an answer, too, is seen only when the pause in which it
    came is over: hence no longer ones. A stream that is as fast as its reader is not left waiting at all.
    """

    def __init__(self, longest_seconds: float) -> None:
        self.longest_seconds = longest_seconds
        self._read_at: float | None = None

    def pause_after(self, chunks: int, now: float) -> float:
        """Seconds to leave the stream alone after a read at `now` that brought so many chunks; never after the first."""
        if not chunks:
            return 0.0
        before, self._read_at = self._read_at, now
        if before is None:
            return 0.0
        pause = min(_CHUNKS_A_READ * (now - before) / chunks, self.longest_seconds)
        return pause if pause >= _WORTH_IT_SECONDS else 0.0
