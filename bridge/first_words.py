"""People who have written and have seen nothing of an answer yet: what can wait lets them go first."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Mark:
    """Somebody waits for a first word; `end` it when that is on its way. Ending it again does nothing."""

    def __init__(self, words: "FirstWords") -> None:
        self._words: FirstWords | None = words

    def end(self) -> None:
        """The first word is on its way, or there will be none."""
        words, self._words = self._words, None
        if words is not None:
            words.ended()


class FirstWords:
    """Counts, in this process alone, on how many ways a message is between its arrival and the first word to its sender.

    When many write at once, a word to each of them takes little and is what they look for; the turns themselves take the rest of the
    time anyway, in whatever order.
    """

    def __init__(self) -> None:
        self._awaited = 0
        self._none = asyncio.Event()
        self._none.set()

    def begin(self) -> Mark:
        """Somebody waits from now on."""
        self._awaited += 1
        self._none.clear()
        return Mark(self)

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Somebody waits for the length of the block."""
        mark = self.begin()
        try:
            yield
        finally:
            mark.end()

    def ended(self) -> None:
        """For `Mark`."""
        self._awaited -= 1
        if not self._awaited:
            self._none.set()

    async def all_said(self, patience_seconds: float) -> bool:
        """Wait until nobody waits; False if there still is somebody after so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_seconds):
                while self._awaited:
                    await self._none.wait()
        return not self._awaited
