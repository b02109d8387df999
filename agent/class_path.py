"""Loads the class that a configuration names as `package.module:Class`."""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import TypeVar

from agent.errors import ClassNotLoaded

_CLASS_PATH = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")

T = TypeVar("T")


def load_class(use: str, kind: type[T]) -> type[T]:
    """Import `use` and give the class, which must be a subclass of `kind`.

    Raises `ClassNotLoaded`: for another form than `package.module:Class`, for a package that is not installed (the
    message names it and the command that installs it), for a missing class and for one of another kind.
    """
    path = _CLASS_PATH.fullmatch(use)
    if path is None:
        raise ClassNotLoaded(f"{use!r} is not of the form 'package.module:Class'")
    found = getattr(_load_module(path["module"], use), path["name"], None)
    if found is None:
        raise ClassNotLoaded(f"{use!r}: the module {path['module']} has no {path['name']}")
    if not isinstance(found, type) or not issubclass(found, kind):
        raise ClassNotLoaded(f"{use!r} is not a {kind.__name__}")
    return found


def _load_module(name: str, use: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if missing.startswith(f"{name.partition('.')[0]}."):
            raise ClassNotLoaded(f"{use!r}: there is no module {missing}") from error
        package = missing.partition(".")[0].replace("_", "-")
        raise ClassNotLoaded(f"{use!r} needs the package {package}: pip install {package}") from error
    except ImportError as error:
        raise ClassNotLoaded(f"{use!r} cannot be imported: {error}") from error
