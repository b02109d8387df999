"""Measures what a turn adds to the data on disk, everything written back and the program ended cleanly first."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.child import ChildFailed
from benchmarks.load import Crowd, Load, crowd
from benchmarks.surroundings import Surroundings, surroundings
from benchmarks.targets import STREAM_RETENTION_SECONDS, Target, home_of

_SWEEP_SECONDS = 2.0


async def bytes_per_turn(target: Target, spans: Sequence[tuple[int, int]], tokens: int, folder: Path) -> list[float]:
    """The growth in each span of turns (as in 80–100), on one thread. Raises `ReplyLost`, `ChildFailed`."""
    marks = sorted({turn for span in spans for turn in span})
    sizes: dict[int, int] = {}
    async with surroundings(folder) as around, crowd(around, 1) as people:
        done = 0
        for mark in marks:
            await _turns(target, around, people, Load(1, mark - done, tokens, varied=True))
            done = mark
            sizes[mark] = size_on_disk(home_of(around))
    return [(sizes[end] - sizes[begin]) / (end - begin) for begin, end in spans]


async def _turns(target: Target, around: Surroundings, people: Crowd, load: Load) -> None:
    running = await target.start(around)
    try:
        await people.run(load)
        await asyncio.sleep(STREAM_RETENTION_SECONDS + _SWEEP_SECONDS)
    finally:
        ended_cleanly = await running.child.stop()
    if not ended_cleanly:
        raise ChildFailed(f"the program did not end cleanly:\n{running.child.log()[-4000:]}")


def size_on_disk(home: Path) -> int:
    """Bytes of all files, after every SQLite database took its write-ahead log in."""
    for database in home.rglob("*.db"):
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(file.stat().st_size for file in home.rglob("*") if file.is_file())
