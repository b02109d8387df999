"""`make fidelity`: how much of the corpus reaches the screen, by file and in all, and what is lost."""

import sys
from pathlib import Path

from tests.fidelity.losses import compare
from tests.fidelity.renderers import RENDERERS

ANSWERS = Path(__file__).parent / "answers"


def main(names: list[str]) -> int:
    """Print the scores for these platforms, or all; 1 if anything is lost."""
    failed = False
    for name in names or RENDERERS:
        found = {
            path.stem: compare(path.read_bytes().decode(), RENDERERS[name]) for path in sorted(ANSWERS.glob("*.md"))
        }
        for answer, findings in found.items():
            print(f"{name}  {answer:40} {findings.score:7.2%}")
            for lost in findings.lost:
                print(f"    lost: {lost}")
        looked_for, lost = (sum(f.looked_for for f in found.values()), sum(len(f.lost) for f in found.values()))
        print(f"{name}  {len(found)} answers, {looked_for} things looked for, {lost} lost: {1 - lost / looked_for:.2%}")
        failed |= lost > 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
