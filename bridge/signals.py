"""Wake-ups within the process: something about this topic may have changed, look again."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bridge.first_words import FirstWords


class Watch:
    """One waiter. Begin to watch, look at the state, then wait: no change in between is missed."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def wake(self) -> None:
        """Let the waiter look again."""
        self._event.set()

    async def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait for the next change; False when the time is over and there was none."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._event.wait()
        woken = self._event.is_set()
        self._event.clear()
        return woken


class Signals:
    """Topics (`run:<id>`, `thread:<id>`, `inbox` …) and who watches them. Carries no data: that is in the database or the stream."""

    def __init__(self) -> None:
        self._watches: defaultdict[str, set[Watch]] = defaultdict(set)
        self.first_words = FirstWords()

    def notify(self, topic: str) -> None:
        """Wake everybody who watches the topic."""
        for watch in self._watches.get(topic, ()):
            watch.wake()

    @contextmanager
    def watch(self, *topics: str) -> Iterator[Watch]:
        """Watch these topics for the length of the block."""
        watch = Watch()
        for topic in topics:
            self._watches[topic].add(watch)
        try:
            yield watch
        finally:
            for topic in topics:
                self._watches[topic].discard(watch)
                if not self._watches[topic]:
                    del self._watches[topic]
