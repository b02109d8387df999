"""`python -m tests.mutants`: take pieces out of the program, one at a time, and see that a test notices."""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .mutations import Mutation, all_mutations
from .trial import BaselineFailed, Verdict, trial

_REPOSITORY = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0, or 1 when a mutant survived or the tests fail without any."""
    parser = argparse.ArgumentParser("python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=12, help="how many are tried; 0 for all (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of the sample; by default a new one, which is printed")
    parser.add_argument("--only", default="", help="those whose name contains this")
    parser.add_argument("--list", action="store_true", help="name them and try none")
    parser.add_argument("--limit-seconds", type=float, default=300.0, help="for one run of tests (%(default)s)")
    given = parser.parse_args(arguments)
    chosen = [mutation for mutation in all_mutations(_REPOSITORY) if given.only in mutation.name]
    if given.list:
        print(*(mutation.name for mutation in chosen), sep="\n")
        return 0
    sampled = _sample(chosen, given.sample, given.seed)
    with tempfile.TemporaryDirectory(prefix="threadbridge-mutants-") as folder:
        try:
            return _report(_try_all(sampled, Path(folder), given.limit_seconds))
        except BaselineFailed as failure:
            print(failure, file=sys.stderr)
            return 1


def _sample(mutations: Sequence[Mutation], size: int, seed: int | None) -> Sequence[Mutation]:
    seed = random.randrange(10_000) if seed is None else seed
    size = min(size or len(mutations), len(mutations))
    print(f"{size} of {len(mutations)} mutants, seed {seed}", flush=True)
    return random.Random(seed).sample(mutations, size)


def _try_all(mutations: Sequence[Mutation], folder: Path, limit_seconds: float) -> list[Verdict]:
    verdicts = []
    with trial(_REPOSITORY, folder, limit_seconds) as court:
        for mutation in mutations:
            began = time.monotonic()
            verdicts.append(court.judge(mutation))
            outcome = f"noticed by {verdicts[-1].noticed_by}" if verdicts[-1].noticed_by else "SURVIVED"
            print(f"{mutation.name}: {outcome} ({time.monotonic() - began:.0f} s)", flush=True)
    return verdicts


def _report(verdicts: Sequence[Verdict]) -> int:
    survivors = [verdict.mutation.name for verdict in verdicts if verdict.noticed_by is None]
    print(f"\n{len(verdicts) - len(survivors)} noticed, {len(survivors)} survived", *survivors, sep="\n  ")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
