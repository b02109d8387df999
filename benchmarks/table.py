"""The table: every row of every program, as the median and as a ratio to the LangChain floor, with the goal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.measure import Figures

REFERENCE = "LangChain floor"
BARE = "bare floor"
_HONEST_FLOORS = (3.0, 8.0)
"""What the LangChain floor costs in CPU, in bare floors, unpaced: outside of it the bench measures something else."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What the product's ratio to the LangChain floor may be at most (or has to be at least)."""

    rows: str
    ratio: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.ratio:g} ×"


GOALS = (
    Goal("CPU s per turn, unpaced", 0.4),
    Goal("CPU s per turn", 0.5),
    Goal("added p50 s, unpaced", 0.5),
    Goal("added p50 s", 1.0),
    Goal("turns per second", 2.5, at_least=True),
    Goal("first text p95 s, unpaced, 64 chats", 0.1),
    Goal("start to ready", 0.8),
    Goal("idle memory", 1.1),
)
"""Where we go; a row goes by the first goal that its name begins with."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of the repeats, the smallest and the largest."""

    middle: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.least:.2f}–{self.most:.2f})"


class Measured:
    """The figures of all repeats, by program; programs of one repeat are compared with each other."""

    def __init__(self, repeats: Sequence[Mapping[str, Figures]]) -> None:
        self._repeats = repeats

    @property
    def programs(self) -> Sequence[str]:
        return list(self._repeats[0])

    @property
    def rows(self) -> Sequence[str]:
        return list(self._repeats[0][REFERENCE])

    def value(self, program: str, row: str) -> Spread:
        return Spread.of([repeat[program][row] for repeat in self._repeats])

    def ratio(self, program: str, row: str, to: str = REFERENCE) -> Spread:
        """Repeat by repeat, so that a machine that was slower for a while does not count."""
        return Spread.of([repeat[program][row] / repeat[to][row] for repeat in self._repeats])

    def lines(self) -> list[str]:
        """The table in Markdown."""
        others = [program for program in self.programs if program != REFERENCE]
        head = ["", f"{REFERENCE}", *(f"{program}, ratio (spread)" for program in others), "goal"]
        lines = [_row(head), _row(["---"] * len(head))]
        for row in self.rows:
            ratios = [f"{self.value(program, row).middle:.3g}: {self.ratio(program, row)}" for program in others]
            lines.append(_row([row, f"{self.value(REFERENCE, row).middle:.3g}", *ratios, str(_goal(row) or "–")]))
        return lines

    def warnings(self) -> list[str]:
        """Signs that the bench does not measure what it should."""
        least, most = _HONEST_FLOORS
        rows = [row for row in self.rows if row.startswith("CPU s per turn, unpaced")]
        ratios = {row: self.ratio(REFERENCE, row, to=BARE).middle for row in rows}
        return [
            f"warning: {row}: the LangChain floor costs {ratio:.1f} × the bare one; {least:g}–{most:g} × was expected"
            for row, ratio in ratios.items()
            if not least <= ratio <= most
        ]


def _goal(row: str) -> Goal | None:
    return next((goal for goal in GOALS if row.startswith(goal.rows)), None)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
