"""A copy of the tree in which mutants are tried: does a test notice?"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .mutations import Mutation

_QUICK = "not postgres and not browser and not e2e"
_END_TO_END = "e2e and not postgres and not browser"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_NO_TESTS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who noticed a mutant: a test, the time limit, or nobody."""

    mutation: Mutation
    noticed_by: str | None


class BaselineFailed(Exception):
    """The tests fail without any mutant, so that they could prove nothing."""


class Trial:
    """The copied tree, and the tests run in it."""

    def __init__(self, tree: Path, limit_seconds: float) -> None:
        self._tree = tree
        self._limit_seconds = limit_seconds
        self._proven: set[str] = set()

    def judge(self, mutation: Mutation) -> Verdict:
        """Try the mutant room by room until one notices. Raises `BaselineFailed`."""
        for room in mutation.rooms:
            self._prove(room)
            noticed_by = self._mutated(mutation, room)
            if noticed_by:
                return Verdict(mutation, noticed_by)
        return Verdict(mutation, None)

    def _prove(self, room: str) -> None:
        if room in self._proven:
            return
        if noticed_by := self._run(room, self._limit_seconds * 2):
            raise BaselineFailed(f"{room} fails without any mutant: {noticed_by}")
        self._proven.add(room)

    def _mutated(self, mutation: Mutation, room: str) -> str | None:
        file = self._tree / mutation.file
        original = file.read_text()
        file.write_text(mutation.text)
        try:
            return self._run(room, self._limit_seconds)
        finally:
            file.write_text(original)

    def _run(self, room: str, limit_seconds: float) -> str | None:
        """The first test that fails, or what else went wrong; None if all is green."""
        markers = _END_TO_END if room == "tests/e2e" else _QUICK
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-m", markers, room]
        environment = {**os.environ, "PYTHONPATH": str(self._tree), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            command, cwd=self._tree, env=environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"the time limit of {limit_seconds:g} s in {room}"
        if process.returncode in {0, _NO_TESTS}:
            return None
        failed = _FAILED.search(output)
        return failed[1] if failed else f"pytest's exit code {process.returncode} in {room}"


@contextmanager
def trial(repository: Path, folder: Path, limit_seconds: float) -> Iterator[Trial]:
    """A trial in a copy of all files that git knows or would take; raises RuntimeError if Python would not import the copy."""
    tree = folder / "tree"
    for name in _files(repository):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repository / name, target)
    _check_imports(tree)
    yield Trial(tree, limit_seconds)


def _files(repository: Path) -> Sequence[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\0") if name and (repository / name).is_file()]


def _check_imports(tree: Path) -> None:
    command = [sys.executable, "-c", "import agent, bridge; print(agent.__file__, bridge.__file__)"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    imported = subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True, env=environment).stdout
    if imported.count(str(tree)) != 2:
        raise RuntimeError(f"the copy in {tree} would not be tested, but {imported}")
