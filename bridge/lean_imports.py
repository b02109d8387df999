"""Packages whose `__init__` gathers the names of a hundred modules are entered name by name: the same classes, without the rest."""

import ast
import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import resolve_name
from types import ModuleType
from typing import Any

GATHERING = frozenset(
    {
        "langchain.agents.middleware",
        "langchain_openai",
        "langchain_openai.chat_models",
        "langgraph_sdk",
        "langsmith.types",
        "openai.types",
        "openai.types.chat",
        "openai.types.graders",
        "openai.types.responses",
        "openai.types.shared",
        "sqlalchemy.ext.asyncio",
    }
)
"""Packages whose `__init__` does nothing but import names from their own modules."""
_NOT_WANTED = ("httpx._main",)
"""Modules that their package can do without and says so by catching ImportError: httpx's command line, which loads rich and pygments."""


@contextmanager
def lean_start() -> Iterator[None]:
    """For the imports of a program's start: no garbage is looked for meanwhile, and what was loaded is never looked at again."""
    gc.disable()
    try:
        enter_by_name()
        yield
    finally:
        gc.freeze()
        gc.enable()


def enter_by_name() -> None:
    """From here on, for the whole process. What is imported already stays as it is; a second call changes nothing."""
    for name in _NOT_WANTED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # Python's way to refuse an import
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


class _Finder:
    """Finds the packages named above as Python does, and loads them by `_Loader`."""

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in GATHERING else None
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        spec.loader = _Loader(name, spec.loader.path)
        return spec


@dataclass
class _Names:
    """What an `__init__` binds, read without running it."""

    gathered: dict[str, tuple[str, str | None]] = field(
        default_factory=dict
    )  # name -> (module, attribute; None: the module itself)
    others: set[str] = field(default_factory=set)
    is_open: bool = False  # it imports `*` or answers for names of its own


class _Loader(SourceFileLoader):
    """Runs the `__init__` only when something is asked of it that is no name gathered from a module."""

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Gathering

    def run(self, module: ModuleType) -> None:
        """What Python would have done at once."""
        module.__class__ = ModuleType
        super().exec_module(module)

    @cached_property
    def names(self) -> _Names:
        """See `_Names`."""
        names = _Names()
        for statement in ast.parse(self.get_data(self.path)).body:
            if isinstance(statement, ast.ImportFrom):
                self._gather(statement, names)
            else:
                _bind(statement, names)
        return names

    def _gather(self, statement: ast.ImportFrom, names: _Names) -> None:
        source = resolve_name("." * statement.level + (statement.module or ""), self.name)
        for alias in statement.names:
            bound = alias.asname or alias.name
            if alias.name == "*":
                names.is_open = True
            elif statement.module is None:
                names.gathered[bound] = (f"{source}.{alias.name}", None)
            elif source != "__future__":
                names.gathered[bound] = (source, alias.name)


class _Gathering(ModuleType):
    """A package that was entered and not run."""

    def __getattr__(self, name: str) -> Any:
        loader = _loader_of(self)
        if name in loader.names.gathered:
            value = self.__dict__[name] = _taken(*loader.names.gathered[name])
            return value
        if name in loader.names.others or (loader.names.is_open and not name.startswith("__")):
            loader.run(self)
            return getattr(self, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        """Python binds each imported submodule in its package; run in full, the package would then have bound its own name over it."""
        if not (isinstance(value, ModuleType) and self._gathers_another(name, value)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        _loader_of(self).run(self)
        return dir(self)

    def _gathers_another(self, name: str, module: ModuleType) -> bool:
        source, attribute = _loader_of(self).names.gathered.get(name, (module.__name__, None))
        return attribute is not None or source != module.__name__


def _loader_of(module: ModuleType) -> _Loader:
    loader = module.__spec__.loader if module.__spec__ else None
    if not isinstance(loader, _Loader):
        raise TypeError(f"{module.__name__} was not entered by name")
    return loader


def _taken(source: str, attribute: str | None) -> Any:
    module = import_module(source)
    return module if attribute is None else getattr(module, attribute)


def _bind(statement: ast.stmt, names: _Names) -> None:
    for node in ast.walk(statement):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.others.add(name)
                names.is_open = names.is_open or name == "__getattr__"
            case ast.Name(id=name, ctx=ast.Store()):
                names.others.add(name)
            case ast.alias(name=name, asname=asname):
                names.others.add(asname or name.partition(".")[0])
            case _:
                pass
