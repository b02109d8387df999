"""The mutation script takes out what it says, leaves valid Python, and tells who noticed."""

import ast
import subprocess
from pathlib import Path

import pytest

from tests.mutants.mutations import Mutation, all_mutations
from tests.mutants.trial import BaselineFailed, Trial

REPOSITORY = Path(__file__).resolve().parents[2]
CHECK = "from pathlib import Path\n\n\ndef test_flag():\n    assert Path('flag').read_text() == 'up'\n"


def test_every_mutant_is_valid_python_and_differs() -> None:
    for mutation in all_mutations(REPOSITORY):
        ast.parse(mutation.text)
        assert mutation.text != (REPOSITORY / mutation.file).read_text(), mutation.name


def test_every_middleware_command_and_repository_has_its_mutants() -> None:
    names = " ".join(mutation.name for mutation in all_mutations(REPOSITORY))
    for piece in ("ThreadDataMiddleware", "ClarificationMiddleware", "/new", "/help", "inbox.py: insert", "claim_next"):
        assert piece in names


def test_a_middleware_taken_out_is_gone_from_the_stack() -> None:
    mutant = next(mutation for mutation in all_mutations(REPOSITORY) if "TitleMiddleware" in mutation.name)
    calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(mutant.text)) if isinstance(node, ast.Call)]
    assert "TitleMiddleware" not in calls
    assert "SteeringMiddleware" in calls


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "room").mkdir()
    (tmp_path / "room/test_flag.py").write_text(CHECK)
    (tmp_path / "flag").write_text("up")
    return tmp_path


def test_a_mutant_that_a_test_notices_is_reported_with_the_test(tree: Path) -> None:
    verdict = Trial(tree, 60).judge(Mutation("flag down", Path("flag"), "down", ["room"]))
    assert verdict.noticed_by == "room/test_flag.py::test_flag"
    assert (tree / "flag").read_text() == "up"


def test_a_mutant_that_nobody_notices_survives(tree: Path) -> None:
    (tree / "other").write_text("there")
    assert Trial(tree, 60).judge(Mutation("other", Path("other"), "gone", ["room"])).noticed_by is None


def test_tests_that_fail_anyway_prove_nothing(tree: Path) -> None:
    (tree / "flag").write_text("down")
    with pytest.raises(BaselineFailed, match="room fails without any mutant"):
        Trial(tree, 60).judge(Mutation("flag", Path("flag"), "lower", ["room"]))
