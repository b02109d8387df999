"""`python -m benchmarks.soak`: what many turns on many threads add to memory and disk."""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.child import ChildFailed
from benchmarks.growth import size_on_disk
from benchmarks.load import Crowd, Load, ReplyLost, crowd
from benchmarks.surroundings import surroundings
from benchmarks.targets import OWN_MODEL, STREAM_RETENTION_SECONDS, Running, home_of

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """The program's size after so many turns of all threads together."""

    turns: int
    resident_bytes: int
    disk_bytes: int


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0, or 1 when a reply was lost or the program failed."""
    parser = argparse.ArgumentParser("python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--turns", type=int, default=1200, help="of all threads together (%(default)s)")
    parser.add_argument("--threads", type=int, default=8, help="people who write at once (%(default)s)")
    parser.add_argument("--tokens", type=int, default=100, help="of an answer (%(default)s)")
    parser.add_argument("--samples", type=int, default=6, help="how often it is looked at (%(default)s)")
    given = parser.parse_args(arguments)
    load = Load(given.threads, max(given.turns // given.threads // given.samples, 1), given.tokens, varied=True)
    try:
        with tempfile.TemporaryDirectory(prefix="threadbridge-soak-") as folder:
            samples = asyncio.run(soak(load, given.samples, Path(folder)))
    except (ReplyLost, ChildFailed) as failure:
        print(f"soak failed: {failure}", file=sys.stderr)
        return 1
    print("", *rows(samples), f"load average now {os.getloadavg()[0]:.1f}", sep="\n")
    return 0


async def soak(load: Load, samples: int, folder: Path) -> list[Sample]:
    """The size before and after each time the load was run. Raises `ReplyLost`, `ChildFailed`."""
    async with surroundings(folder) as around:
        running = await OWN_MODEL.start(around)
        try:
            async with crowd(around, load.chats) as people:
                await people.run(Load(load.chats, 1, load.tokens))
                return await _samples(running, people, load, samples, home_of(around))
        finally:
            await running.child.stop()


async def _samples(running: Running, people: Crowd, load: Load, count: int, home: Path) -> list[Sample]:
    taken = [await _sample(running, 0, home)]
    for number in range(1, count + 1):
        await people.run(load)
        taken.append(await _sample(running, number * load.chats * load.turns, home))
        print(f"{taken[-1].turns} turns …", file=sys.stderr, flush=True)
    return taken


async def _sample(running: Running, turns: int, home: Path) -> Sample:
    await asyncio.sleep(STREAM_RETENTION_SECONDS + 2)
    size = await asyncio.to_thread(size_on_disk, home)
    return Sample(turns, running.child.resident_bytes(), size)


def rows(samples: Sequence[Sample]) -> list[str]:
    """Each sample, and the growth per turn in the second half, when everything has been in use for long."""
    lines = ["| turns | memory, MiB | disk, MiB |", "| --- | --- | --- |"]
    lines += [f"| {s.turns} | {s.resident_bytes / _MIB:.1f} | {s.disk_bytes / _MIB:.2f} |" for s in samples]
    middle, last = samples[len(samples) // 2], samples[-1]
    turns = last.turns - middle.turns
    memory = (last.resident_bytes - middle.resident_bytes) / turns / 1024
    disk = (last.disk_bytes - middle.disk_bytes) / turns / 1024
    return [*lines, "", f"second half, per turn: memory {memory:.2f} KiB, disk {disk:.2f} KiB"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
