"""What is measured, by arguments: how many chats, turns, tokens and repeats."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from benchmarks.load import Load

_TURNS_PER_CHAT = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """The loads of one repeat, and how often it is repeated."""

    repeats: int
    unpaced: Sequence[Load]
    paced: Sequence[Load]
    with_growth: bool

    @property
    def most_chats(self) -> int:
        return max(load.chats for load in (*self.unpaced, *self.paced))


def parse_plan(arguments: Sequence[str]) -> Plan:
    """The plan of a command line; the defaults end within ten minutes on two quiet cores."""
    parser = argparse.ArgumentParser("python -m benchmarks", description="The product and the floors, in turn.")
    parser.add_argument("--repeats", type=int, default=2, help="of the whole, new processes each time (%(default)s)")
    parser.add_argument(
        "--chats", type=int, nargs="+", default=[1, 8, 64], help="people at once, unpaced (%(default)s)"
    )
    parser.add_argument("--turns", type=int, default=16, help="at least so many at each number of chats (%(default)s)")
    parser.add_argument(
        "--paced-chats", type=int, nargs="*", default=[1, 8], help="people at once, paced (%(default)s)"
    )
    parser.add_argument("--paced-turns", type=int, default=2, help="of each person, paced (%(default)s)")
    parser.add_argument("--tokens-per-second", type=float, default=50.0, help="of a paced model (%(default)s)")
    parser.add_argument("--tokens", type=int, default=200, help="of an answer (%(default)s)")
    parser.add_argument("--no-growth", action="store_true", help="leave out the rows about the database")
    given = parser.parse_args(arguments)
    unpaced = [_unpaced(chats, given.turns, given.tokens) for chats in given.chats]
    paced = [Load(chats, given.paced_turns, given.tokens, given.tokens_per_second) for chats in given.paced_chats]
    return Plan(given.repeats, unpaced, paced, with_growth=not given.no_growth)


def _unpaced(chats: int, turns: int, tokens: int) -> Load:
    return Load(chats, max(ceil(turns / chats), _TURNS_PER_CHAT), tokens)
