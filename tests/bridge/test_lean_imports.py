"""Packages entered name by name: the same objects as ever, without the modules nobody asked for."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from bridge import lean_imports
from bridge.lean_imports import GATHERING, enter_by_name, lean_start

PACKAGE = {
    "__init__.py": (
        '"""Gathers."""\n'
        "from __future__ import annotations\n"
        "from .colours import Red, Green as Leaf\n"
        "from . import shapes\n"
        "from .paint import paint\n"
        "try:\n    from .missing import absent\nexcept ImportError:\n    absent = None\n"
        "VERSION = '7'\n"
        "RAN = []\n"
    ),
    "colours.py": "class Red: ...\nclass Green: ...\n",
    "shapes.py": "ROUND = 'o'\n",
    "paint.py": "def paint(): return 'painted'\n",
    "unasked.py": "",
}


@pytest.fixture
def gathering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package of our own that is entered by name."""
    name = "gathering_package"
    (tmp_path / name).mkdir()
    for file, content in PACKAGE.items():
        (tmp_path / name / file).write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(lean_imports, "GATHERING", frozenset({name}))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    modules = dict(sys.modules)
    enter_by_name()
    yield name
    for loaded in set(sys.modules) - set(modules):
        del sys.modules[loaded]
    if "httpx._main" in modules:
        sys.modules["httpx._main"] = modules["httpx._main"]


def loaded_of(name: str) -> set[str]:
    return {module.removeprefix(f"{name}.") for module in sys.modules if module.startswith(f"{name}.")}


def test_only_the_module_of_a_name_is_loaded(gathering: str) -> None:
    from gathering_package import Leaf  # type: ignore[import-not-found]

    assert Leaf.__name__ == "Green"
    assert loaded_of(gathering) == {"colours"}


def test_a_submodule_can_be_imported_past_the_package(gathering: str) -> None:
    import gathering_package.unasked  # type: ignore[import-not-found]  # noqa: F401
    from gathering_package import shapes

    assert shapes.ROUND == "o"
    assert loaded_of(gathering) == {"unasked", "shapes"}


def test_a_function_is_not_hidden_by_the_module_of_its_name(gathering: str) -> None:
    """Run in full, the package binds the function over the submodule that Python has bound before."""
    import_module(f"{gathering}.paint")
    from gathering_package import paint

    assert paint() == "painted"
    assert loaded_of(gathering) == {"paint"}


def test_what_is_no_gathered_name_runs_the_package(gathering: str) -> None:
    import gathering_package

    red = gathering_package.Red
    assert (gathering_package.VERSION, gathering_package.absent) == ("7", None)
    assert gathering_package.Red is red
    assert loaded_of(gathering) == {"colours", "shapes", "paint"}


def test_an_unknown_name_says_so_and_loads_nothing(gathering: str) -> None:
    import gathering_package

    with pytest.raises(AttributeError, match="has no attribute 'Blue'"):
        _ = gathering_package.Blue
    assert loaded_of(gathering) == set()


def test_all_names_can_still_be_listed(gathering: str) -> None:
    import gathering_package

    assert {"Red", "Leaf", "shapes", "paint", "VERSION"} <= set(dir(gathering_package))


def test_garbage_is_collected_again_after_a_start_that_failed() -> None:
    import gc

    with pytest.raises(RuntimeError), lean_start():
        raise RuntimeError("a start that fails")
    assert gc.isenabled()
    gc.unfreeze()


@pytest.mark.parametrize("package", sorted(GATHERING))
def test_the_packages_named_are_there(package: str) -> None:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None


def test_the_program_gets_the_same_classes_and_leaves_the_rest_out() -> None:
    script = """
import sys
from bridge.lean_imports import lean_start
with lean_start():
    import bridge.app, agent.models
    agent.models.ChatOpenAICompatible
left_out = ["openai.types.responses.response", "openai.types.fine_tuning", "langsmith.types.run", "sqlalchemy.orm", "alembic", "rich"]
loaded = [name for name in left_out if name in sys.modules]
assert not loaded, loaded
import httpx, openai, sqlalchemy.ext.asyncio, langchain.agents.middleware, openai.types.chat
assert sqlalchemy.ext.asyncio.AsyncEngine.__module__ == "sqlalchemy.ext.asyncio.engine"
assert openai.types.chat.ChatCompletion.model_fields
for package in (openai.types, openai.types.chat, sqlalchemy.ext.asyncio, langchain.agents.middleware):
    for name in list(package.__spec__.loader.names.gathered):
        assert getattr(package, name) is not None, name
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
