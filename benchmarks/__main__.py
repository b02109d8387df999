"""`python -m benchmarks`: the product and both floors in turn on the same simulators, as ratios with their spread."""

import asyncio
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.child import ChildFailed
from benchmarks.growth import bytes_per_turn
from benchmarks.load import ReplyLost
from benchmarks.measure import Figures, measure_start, measure_turns
from benchmarks.plan import Plan, parse_plan
from benchmarks.table import Measured
from benchmarks.targets import (
    BARE_FLOOR,
    LANGCHAIN_FLOOR,
    LANGCHAIN_MODEL,
    LANGCHAIN_MODEL_AND_PAGE,
    OWN_MODEL,
    OWN_MODEL_AND_PAGE,
    SQLITE_FLOOR,
    Target,
)

_BUSY_LOAD = 1.0
# Turns are measured without the page, the start and the memory with it.
_IN_TURN: Sequence[tuple[Target, Target]] = (
    (LANGCHAIN_FLOOR, LANGCHAIN_FLOOR),
    (OWN_MODEL_AND_PAGE, OWN_MODEL),
    (LANGCHAIN_MODEL_AND_PAGE, LANGCHAIN_MODEL),
    (BARE_FLOOR, BARE_FLOOR),
)
_EARLY, _LATE = (80, 100), (280, 300)
_BETWEEN = ((100, 200), (200, 300))
_MOST_BYTES_PER_TURN = 16 * 1024


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0, or 1 when a reply was lost or a program failed."""
    plan = parse_plan(arguments)
    began = time.monotonic()
    print(_machine(), flush=True)
    try:
        with tempfile.TemporaryDirectory(prefix="threadbridge-bench-") as folder:
            asyncio.run(bench(plan, Path(folder)))
    except (ReplyLost, ChildFailed) as failure:
        print(f"bench failed: {failure}", file=sys.stderr)
        return 1
    print(f"\n{time.monotonic() - began:.0f} s in all; load average now {os.getloadavg()[0]:.1f}")
    return 0


async def bench(plan: Plan, folder: Path) -> None:
    """Measure and print. Raises `ReplyLost`, `ChildFailed`."""
    repeats = [await _one_repeat(plan, folder / f"repeat-{number}") for number in range(1, plan.repeats + 1)]
    measured = Measured(repeats)
    print("", *measured.lines(), *measured.warnings(), sep="\n", flush=True)
    if plan.with_growth:
        await _growth(plan, folder)


async def _one_repeat(plan: Plan, folder: Path) -> dict[str, Figures]:
    figures: dict[str, Figures] = {}
    for starting, answering in _IN_TURN:
        print(f"{folder.name}: {answering.name} …", file=sys.stderr, flush=True)
        start = await measure_start(starting, folder / answering.name / "start")
        figures[answering.name] = await measure_turns(answering, plan, folder / answering.name / "turns") | start
    return figures


async def _growth(plan: Plan, folder: Path) -> None:
    tokens = max(load.tokens for load in plan.unpaced)
    print("growth: product …", file=sys.stderr, flush=True)
    spans = (_EARLY, *_BETWEEN, _LATE)
    growth = await bytes_per_turn(OWN_MODEL, spans, tokens, folder / "growth-product")
    print("growth: LangChain floor with SQLite …", file=sys.stderr, flush=True)
    (floor,) = await bytes_per_turn(SQLITE_FLOOR, [_EARLY], tokens, folder / "growth-floor")
    print(f"\nKiB on disk per turn, one thread (goal: at most {_MOST_BYTES_PER_TURN // 1024}, and no more later)\n")
    for (begin, end), size in zip(spans, growth, strict=True):
        print(f"- product, turns {begin}–{end}: {size / 1024:.1f}")
    print(f"- LangChain floor with SQLite, turns {_EARLY[0]}–{_EARLY[1]}: {floor / 1024:.1f}")


def _machine() -> str:
    load = os.getloadavg()[0]
    busy = "; the machine is busy with something else, figures will be off" if load > _BUSY_LOAD else ""
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, load average {load:.1f}{busy}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
