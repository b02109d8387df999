"""What a fresh checkout promises: commands, links, locked dependencies, CI."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module, metadata
from pathlib import Path

import pytest

from bridge.cli import app

ROOT = Path(__file__).parents[2]
TARGETS = (
    "install",
    "dev",
    "run",
    "gateway",
    "test",
    "lint",
    "format",
    "check",
    "fidelity",
    "bench",
    "soak",
    "mutants",
    "image",
    "migrate-rev",
    "lock",
    "help",
)
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]


_IMPORT_ALL_WITHOUT = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # None there is a package that is not installed
for package in ("agent", "bridge", "channels", "migrations"):
    for module in pkgutil.walk_packages([package], f"{package}."):
        if not module.name.endswith(("__main__", ".env")) and ".versions." not in module.name:
            importlib.import_module(module.name)
"""


def _make(*arguments: str) -> str:
    done = subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("target", TARGETS)
def test_the_makefile_has_the_target_and_explains_it(target):
    _make("--dry-run", target)
    assert re.search(rf"^  make {target} +[A-Z]", _make("help"), re.MULTILINE)


def test_check_is_everything_ci_runs():
    planned = _make("--dry-run", "check")
    for step in ("ruff format --check", "ruff check", "mypy", "lint-imports", "pytest"):
        assert step in planned


@pytest.mark.parametrize("page", PAGES)
def test_every_make_command_of_the_docs_is_a_target(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert set(re.findall(r"(?<![\w-])make ([a-z][a-z-]+)\b(?=[ `\n])", _code(text))) <= set(TARGETS) | {
        "layers",
        "types",
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_threadbridge_command_of_the_docs_exists(page):
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    known |= {group.name for group in app.registered_groups}
    text = (ROOT / page).read_text(encoding="utf-8")
    assert set(re.findall(r"threadbridge ([a-z]+)", _code(text))) <= known


@pytest.mark.parametrize("page", PAGES)
def test_every_local_link_and_picture_of_the_docs_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if not link.startswith("http")]
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def test_the_readme_sets_up_with_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"```sh\n(make .*)\n```", text) == ["make run", "make test"]


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock", "requirements-peers.lock"])
def test_everything_locked_is_pinned_with_hashes_and_comes_from_no_address(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^-", text, re.MULTILINE), "no option such as an index belongs into a lock file"
    for requirement in re.split(r"\n(?=\S)", text.strip()):
        first = requirement.splitlines()[0]
        assert re.match(r"[A-Za-z0-9._-]+(\[[\w,-]+\])?==[\w.!+]+( ; .+)? \\$", first), first
        assert "--hash=sha256:" in requirement, first


def test_the_lock_files_cover_what_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    program, development = _locked("requirements.lock"), _locked("requirements-dev.lock")
    assert _names([*project["project"]["dependencies"], *groups["build"]]) <= program.keys()
    assert _names([*groups["dev"]]) <= development.keys()
    assert _names([*groups["peers"]]) == _locked("requirements-peers.lock").keys()
    assert program.items() <= development.items(), "the program is tested with what it is run with"


def test_the_program_needs_no_package_that_only_development_installs():
    only_development = _locked("requirements-dev.lock").keys() - _locked("requirements.lock").keys()
    modules = {
        module
        for module, packages in metadata.packages_distributions().items()
        if {_normal(package) for package in packages} <= only_development
    }
    assert "pytest" in modules
    subprocess.run([sys.executable, "-c", _IMPORT_ALL_WITHOUT, *modules], cwd=ROOT, check=True, timeout=100)


def test_langgraphs_own_tools_find_the_agent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graphs = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
    path, name = graphs["lead_agent"].split(":")
    assert (ROOT / path).is_file()
    module = import_module(path.removeprefix("./").removesuffix(".py").replace("/", "."))
    assert "model" in asyncio.run(getattr(module, name)()).nodes


def test_ci_installs_nothing_that_is_there_and_runs_the_readmes_test_command_with_nothing_skipped(tmp_path):
    log, checkout = tmp_path / "log", tmp_path / "checkout"
    (checkout / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", checkout / ".ci")
    for name in ("make", "git", "chromium", "apt-get", "dockerd", "mmdebstrap", "docker-compose"):
        _write_fake(tmp_path / name, f'echo "{name} CI=$CI $*" >> {log}')
    _write_fake(checkout / ".venv/bin/python", f'echo "python $*" >> {log}; echo the-$3')
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable}
    subprocess.run([checkout / ".ci/run"], env=environ, check=True, timeout=60, capture_output=True)
    calls = log.read_text().splitlines()
    has_postgres = any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    assert [call for call in calls if call.startswith("apt-get")] == [] or not has_postgres
    assert calls[-2:] == [
        "make CI=true --no-print-directory lint types layers",
        "make CI=true --no-print-directory test",
    ]
    assert "python -m tests.container.ingredients base" in calls


def test_ci_fails_when_what_it_makes_in_the_background_fails(tmp_path):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci")
    for name in ("make", "git", "chromium", "apt-get", "dockerd", "mmdebstrap", "docker-compose"):
        _write_fake(tmp_path / name, "")
    _write_fake(tmp_path / ".venv/bin/python", 'test "$3" != base')
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable}
    assert subprocess.run([tmp_path / ".ci/run"], env=environ, check=False, timeout=60).returncode == 1


def _write_fake(program: Path, commands: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{commands}\n")
    program.chmod(0o755)


def test_in_ci_a_skipped_test_fails_with_its_reason(tmp_path):
    (tmp_path / "conftest.py").write_bytes((ROOT / "tests/conftest.py").read_bytes())
    (tmp_path / "test_it.py").write_text("import pytest\ndef test_needs():\n    pytest.skip('no database here')\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:asyncio", "-p", "no:cacheprovider", str(tmp_path)]
    elsewhere = subprocess.run(command, env={**os.environ, "CI": ""}, capture_output=True, text=True, check=False)
    in_ci = subprocess.run(command, env={**os.environ, "CI": "true"}, capture_output=True, text=True, check=False)
    assert (elsewhere.returncode, in_ci.returncode) == (0, 1)
    assert "in CI nothing is skipped, but this was: Skipped: no database here" in in_ci.stdout


def _code(text: str) -> str:
    """What stands in shell blocks and between back-quotes."""
    found = re.findall(r"```sh\n(.*?)```|`([^`\n]+)`", text, re.DOTALL)
    return "".join(f"{block or span}\n" for block, span in found)


def _locked(name: str) -> dict[str, str]:
    pins = re.findall(r"^([A-Za-z0-9._-]+)(?:\[.*?\])?==(\S+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return {_normal(package): version for package, version in pins}


def _names(requirements: list[str]) -> set[str]:
    return {_normal(re.match(r"[A-Za-z0-9._-]+", requirement)[0]) for requirement in requirements}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
