"""Killed or stalled between a checkpoint and its pending writes: the successor goes on, the stalled one stops.

The scenarios are those of the experiment recorded in docs/decisions.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXPERIMENT = Path(__file__).parents[3] / "docs/decisions/experiments/fenced_saver.py"
WHOLE = ["human", "ai", "call-fast", "call-slow", "ai"]


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fenced_saver", EXPERIMENT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


fenced_saver = _load()
SCENARIOS = {scenario.name: scenario for scenario in fenced_saver.SCENARIOS}
# A process stopped inside a transaction keeps the file locked; the bridge lets only one process at a file, PostgreSQL many.
PLAYED = [
    ("sqlite", "killed slow_writes"),
    pytest.param("postgres", "killed writes", marks=pytest.mark.postgres),
    pytest.param("postgres", "stalled slow_writes", marks=pytest.mark.postgres),
]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("database_url", "name"), PLAYED, indirect=["database_url"])
async def test_a_second_process_finishes_what_the_first_began(
    name: str, tmp_path: Path, database_url: str | None
) -> None:
    place = str(tmp_path) if database_url is None else database_url
    played = await fenced_saver.play(place, SCENARIOS[name], tmp_path)

    assert played["second"] == {"ended": "finished"}
    assert played["stored"] == {"messages": WHOLE, "kept": 1}
    assert played["afterwards"] == played["stored"], "what the first did late changed nothing"
    stalled = "stalled" in name
    assert played["first"] == ({"ended": "lease lost"} if stalled else None)
    stored_before = "slow_writes" in name
    assert played["fast_ran"] == (1 if stored_before else 2), "a tool whose result was stored does not run again"
