"""The table's arithmetic: ratios within a repeat, their median and spread, and the warning about the floors."""

import pytest

from benchmarks.plan import parse_plan
from benchmarks.table import Measured

CPU = "CPU s per turn, unpaced, 1 chat"


def repeat(langchain: float, product: float, bare: float) -> dict[str, dict[str, float]]:
    return {"LangChain floor": {CPU: langchain}, "product": {CPU: product}, "bare floor": {CPU: bare}}


def test_programs_are_compared_within_a_repeat() -> None:
    ratio = Measured([repeat(0.1, 0.05, 0.02), repeat(1.0, 0.6, 0.2), repeat(0.2, 0.08, 0.04)]).ratio("product", CPU)
    assert (ratio.middle, ratio.least, ratio.most) == pytest.approx((0.5, 0.4, 0.6))


def test_each_row_shows_ratios_and_the_goal() -> None:
    head, _, row = Measured([repeat(0.1, 0.05, 0.02)]).lines()
    assert head.startswith("|  | LangChain floor | product, ratio (spread) |")
    assert row == f"| {CPU} | 0.1 | 0.05: 0.50 (0.50–0.50) | 0.02: 0.20 (0.20–0.20) | ≤ 0.4 × |"


@pytest.mark.parametrize(("bare", "warned"), [(0.01, True), (0.02, False), (0.05, True)])
def test_floors_too_near_or_too_far_from_each_other_are_pointed_out(bare: float, warned: bool) -> None:
    assert bool(Measured([repeat(0.1, 0.05, bare)]).warnings()) is warned


def test_the_plan_follows_the_arguments() -> None:
    plan = parse_plan(["--chats", "1", "16", "--turns", "40", "--tokens-per-second", "25", "--paced-chats", "3"])
    assert [(load.chats, load.turns) for load in plan.unpaced] == [(1, 40), (16, 3)]
    assert [(load.chats, load.tokens_per_second) for load in plan.paced] == [(3, 25.0)]
    assert plan.most_chats == 16
