"""The program as a person starts it: in an empty folder, with nothing in the environment."""

import io
import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bridge.cli import main


@dataclass(frozen=True, slots=True)
class Ended:
    """A finished command."""

    returncode: int
    stdout: str
    stderr: str


Program = Callable[..., Ended]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key in {"PATH", "LANG", "LC_ALL"}}
    return {**kept, "HOME": str(tmp_path), "PYTHONUTF8": "1"}


@pytest.fixture
def threadbridge(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Program]:
    """Run `threadbridge …` and wait for its end. In this process: loading the agent anew for every command takes seconds."""
    before, handlers = dict(os.environ), logging.root.handlers[:]
    levels = {logger: logger.level for logger in map(logging.getLogger, (None, "agent", "bridge", "channels"))}
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, said: str = "") -> Ended:
        os.environ.clear()
        os.environ.update(environment)
        monkeypatch.setattr(sys, "argv", ["threadbridge", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(said))
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(int(ended.value.code or 0), *capsys.readouterr())

    yield run
    os.environ.clear()
    os.environ.update(before)
    logging.captureWarnings(False)
    logging.root.handlers[:] = handlers
    for logger, level in levels.items():
        logger.setLevel(level)
