"""Checks parameters against the Bot API's method table: names, presence and types, nested objects included."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from .errors import broken_rule
from .parameters import Call

_TABLE = orjson.loads((Path(__file__).parent / "data" / "telegram_bot_api.json").read_bytes())
_METHODS: Mapping[str, Mapping[str, Any]] = _TABLE["methods"]
_TYPES: Mapping[str, Any] = _TABLE["types"]
_BY_LOWER_CASE = {name.lower(): name for name in _METHODS}
_INTEGER = re.compile(r"-?\d{1,18}")
_SCALARS = {"String", "Integer", "Float", "Boolean", "InputFile"}


class _Mismatch(Exception):
    """A value is not of any type it may have."""


def method_name(written: str) -> str | None:
    """The method's name as documented; the server takes any case."""
    return _BY_LOWER_CASE.get(written.lower())


def typed_parameters(call: Call) -> dict[str, Any]:
    """The parameters with their documented types; raises `Refused` for unknown, missing or ill-typed ones."""
    documented = _METHODS[call.method]
    typed = {name: _typed(name, value, documented) for name, value in call.parameters.items()}
    for name, rule in documented.items():
        if rule["required"] and name not in typed and name not in call.files:
            raise broken_rule(f"parameter {name} is required")
    return typed


def _typed(name: str, value: Any, documented: Mapping[str, Any]) -> Any:
    rule = documented.get(name)
    if rule is None:
        raise broken_rule(f"unknown parameter {name}")
    try:
        return _one_of(_from_form(value, rule["types"]), rule["types"], name)
    except _Mismatch as mismatch:
        raise broken_rule(f"can't parse parameter {name}: {mismatch}") from None


def _from_form(value: Any, types: list[str]) -> Any:
    """What a form's text stands for, where the types say that it isn't a text."""
    if not isinstance(value, str):
        return value
    if "Boolean" in types and value.lower() in {"true", "false", "1", "0"}:
        return value.lower() in {"true", "1"}
    if "Integer" in types and _INTEGER.fullmatch(value):
        return int(value)
    if not set(types) <= _SCALARS:
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            raise _Mismatch("JSON expected") from None
    return value


def _one_of(value: Any, types: list[str], path: str) -> Any:
    mismatches = []
    for name in types:
        try:
            return _checked(value, name, path)
        except _Mismatch as mismatch:
            mismatches.append(str(mismatch))
    raise _Mismatch(" / ".join(dict.fromkeys(mismatches)))


def _checked(value: Any, name: str, path: str) -> Any:
    if name.startswith("Array of "):
        if not isinstance(value, list):
            raise _Mismatch(f"{path} must be an array")
        return [_checked(item, name.removeprefix("Array of "), f"{path}[{i}]") for i, item in enumerate(value)]
    if name in _SCALARS:
        return _scalar(value, name, path)
    described = _TYPES.get(name)
    if described is None:
        raise _Mismatch(f"{path} is of a type that is not in the table: {name}")
    if "subtypes" in described:
        return _one_of(value, described["subtypes"], path)
    return _object(value, described, f"{path} ({name})")


def _scalar(value: Any, name: str, path: str) -> Any:
    python_types: dict[str, tuple[type, ...]] = {
        "String": (str,), "InputFile": (str,), "Integer": (int,), "Float": (int, float), "Boolean": (bool,),
    }  # fmt: skip
    if not isinstance(value, python_types[name]) or (isinstance(value, bool) and name != "Boolean"):
        raise _Mismatch(f"{path} must be {name}")
    return value


def _object(value: Any, fields: Mapping[str, Any], path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Mismatch(f"{path} must be an object")
    unknown = value.keys() - fields.keys()
    missing = {name for name, rule in fields.items() if rule["required"]} - value.keys()
    if unknown or missing:
        raise _Mismatch(f"{path} has unknown fields {sorted(unknown)} and lacks {sorted(missing)}")
    return {name: _one_of(item, fields[name]["types"], f"{path}.{name}") for name, item in value.items()}
