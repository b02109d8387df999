"""Measures one program: every figure of the table about speed and memory."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.load import Crowd, Load, TurnTimes, crowd, now
from benchmarks.plan import Plan
from benchmarks.surroundings import surroundings
from benchmarks.targets import Running, Target

Figures = dict[str, float]
"""The value of each row that was measured, by the row's name."""
WARM_UP = Load(chats=1, turns=3)
_SETTLE_SECONDS = 0.5
_MIB = 1024 * 1024


async def measure_start(target: Target, folder: Path) -> Figures:
    """How long the start takes, how long until the first reply, and what memory is in use then. Raises `ReplyLost`, `ChildFailed`."""
    async with surroundings(folder) as around, crowd(around, 1) as people:
        began = now()
        running = await target.start(around)
        try:
            await people.run(Load(chats=1, turns=1))
            replied = now()
            await asyncio.sleep(_SETTLE_SECONDS)
            return {
                "start to ready, s": running.ready_seconds,
                "start to first reply, s": replied - began,
                "idle memory, MiB": running.child.resident_bytes() / _MIB,
            }
        finally:
            await running.child.stop()


async def measure_turns(target: Target, plan: Plan, folder: Path) -> Figures:
    """The loads of the plan, one after the other in one process. Raises `ReplyLost`, `ChildFailed`."""
    figures: Figures = {}
    async with surroundings(folder) as around:
        running = await target.start(around)
        try:
            async with crowd(around, plan.most_chats) as people:
                await people.run(WARM_UP)
                for load in plan.unpaced:
                    figures |= await _unpaced(running, people, load)
                for load in plan.paced:
                    figures |= await _paced(running, people, load)
        finally:
            await running.child.stop()
    return figures


async def _unpaced(running: Running, people: Crowd, load: Load) -> Figures:
    cpu, seconds, turns = await _run(running, people, load)
    where = f"unpaced, {_chats(load)}"
    figures = {
        f"CPU s per turn, {where}": cpu / len(turns),
        f"added p50 s, {where}": median(_added(turns, load)),
        f"first text p95 s, {where}": _percentile([turn.first_text - turn.received for turn in turns], 95),
    }
    if load.chats > 1:  # in one chat the product keeps Telegram's pace of about a message a second, the floors do not
        figures[f"turns per second, {where}"] = len(turns) / seconds
    return figures


async def _paced(running: Running, people: Crowd, load: Load) -> Figures:
    cpu, _, turns = await _run(running, people, load)
    where = f"{load.tokens_per_second:g} tokens/s, {_chats(load)}"
    return {
        f"CPU s per turn, {where}": cpu / len(turns),
        f"added p50 s, {where}": median(_added(turns, load)),
        f"first text p95 s, {where}": _percentile([turn.first_text - turn.received for turn in turns], 95),
    }


async def _run(running: Running, people: Crowd, load: Load) -> tuple[float, float, Sequence[TurnTimes]]:
    """CPU seconds, what the program does afterwards included; seconds from first message to last reply; the turns."""
    cpu_before = running.child.cpu_seconds()
    turns = await people.run(load)
    seconds = max(turn.replied for turn in turns) - min(turn.received for turn in turns)
    await asyncio.sleep(_SETTLE_SECONDS)
    return running.child.cpu_seconds() - cpu_before, seconds, turns


def _added(turns: Sequence[TurnTimes], load: Load) -> list[float]:
    return [turn.replied - turn.received - load.model_seconds for turn in turns]


def _percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * percent // 100) - 1, 0)]


def _chats(load: Load) -> str:
    return "1 chat" if load.chats == 1 else f"{load.chats} chats"
