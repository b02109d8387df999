"""LangGraph's values as JSON, in the shape the official clients read."""

from dataclasses import fields, is_dataclass
from typing import Any

import orjson
from langgraph.types import Interrupt
from pydantic import BaseModel

_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS


def to_json(value: Any) -> bytes:
    """Messages become their `model_dump()`, tuples lists; what has no JSON form its text: a stream never fails over one value."""
    return orjson.dumps(value, default=_plain, option=_OPTIONS)


def to_jsonable(value: Any) -> Any:
    """The same as Python values."""
    return orjson.loads(to_json(value))


def _plain(value: Any) -> Any:  # noqa: PLR0911 — one line a kind reads best
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, Interrupt):
        return {"value": value.value, "id": value.id}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "replace")
    return repr(value)
