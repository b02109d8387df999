"""One lock per path, kept only while somebody holds or awaits it."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class PathLocks:
    """Serialises the writers of one key, in worker threads.

    Thread locks rather than asyncio's: a cancelled task leaves its worker thread writing, and the lock must stay with
    the thread. The table never holds more entries than there are writers.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._entries: dict[Hashable, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @contextmanager
    def hold(self, key: Hashable) -> Iterator[None]:
        """Own the key until the block ends."""
        with self._guard:
            entry = self._entries.setdefault(key, _Entry())
            entry.users += 1
        try:
            with entry.lock:
                yield
        finally:
            with self._guard:
                entry.users -= 1
                if not entry.users:
                    del self._entries[key]
