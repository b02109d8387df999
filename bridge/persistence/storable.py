"""What no database column takes, taken out of texts: PostgreSQL has no room for the character NUL."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")
_NUL = "\x00"
_IN_ITS_PLACE = "\N{REPLACEMENT CHARACTER}"


def storable(value: T) -> T:
    """The same value (text, JSON, or a frozen dataclass of such) with every NUL replaced."""
    return _storable(value)  # type: ignore[no-any-return]  # each branch gives back its own kind


def _storable(value: Any) -> Any:
    if type(value) is str:
        return value.replace(_NUL, _IN_ITS_PLACE)
    if isinstance(value, Mapping):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_storable(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _storable(getattr(value, field.name)) for field in fields(value)})
    return value
