"""The import rule, and what else no reviewer should have to look for."""

import io
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLATFORMS = ("telegram", "slack", "feishu", "lark")


def test_every_module_has_a_layer_and_imports_only_what_lies_below():
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("package", ["bridge", "agent"])
def test_no_platform_is_named_outside_its_folder(package):
    named = [
        f"{path.relative_to(ROOT)}:{token.start[0]}: {token.string.strip()}"
        for path in (ROOT / package).rglob("*.py")
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        if token.type in {tokenize.NAME, tokenize.STRING} and any(name in token.string.lower() for name in PLATFORMS)
    ]
    assert named == []


@pytest.mark.parametrize("name", ["utils", "helpers", "common"])
def test_every_module_says_what_it_is_about(name):
    assert [path for package in ("agent", "bridge", "channels") for path in (ROOT / package).rglob(f"{name}.py")] == []
