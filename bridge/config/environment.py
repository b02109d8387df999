"""Values that come from the environment: `.env` beside the file, and `$NAME` as a whole value."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from bridge.config.document import KeyPath
from bridge.config.problems import Problem, refuse

_REFERENCE = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Values with every `$NAME` put in. One that is not set became None and is named in `missing`."""

    values: Any
    used: Mapping[KeyPath, str] = field(default_factory=dict)
    missing: Mapping[KeyPath, str] = field(default_factory=dict)


def read_environment(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` over what `folder/.env` says; raises ConfigError for an `.env` that cannot be read."""
    path = folder / ".env"
    if not path.is_file():
        return dict(environ)
    try:
        # Interpolation off: a `$` in a secret is part of the secret.
        written = dotenv_values(path, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise refuse(path, [Problem((), f"the file cannot be read: {error}")]) from error
    return {**{name: value for name, value in written.items() if value is not None}, **environ}


def resolve(values: Any, environ: Mapping[str, str]) -> Resolved:
    """Put in the environment's values. An empty variable counts as not set: that is how compose files pass an absent one."""
    used: dict[KeyPath, str] = {}
    missing: dict[KeyPath, str] = {}

    def put_in(value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            return {key: put_in(item, (*path, str(key))) for key, item in value.items()}
        if isinstance(value, list):
            return [put_in(item, (*path, index)) for index, item in enumerate(value)]
        reference = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if reference is None:
            return value
        name = reference["plain"] or reference["braced"]
        found = environ.get(name)
        (used if found else missing)[path] = name
        return found or None

    return Resolved(put_in(values, ()), used, missing)
