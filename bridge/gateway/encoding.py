"""JSON in and out."""

import re
from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web

from bridge.errors import InvalidRequest
from bridge.runs.jsonable import to_json

_UNSUSPICIOUS_BRACKETS = 100
_ENVELOPE_DEPTH = 50  # what stands around a body's values when they are stored and shown
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def from_json(body: bytes) -> Any:
    """Read a body; an empty one is an empty object.

    Raises InvalidRequest for what is not JSON and for what could not be stored or sent back: a NUL character (PostgreSQL),
    nesting beyond what orjson writes.
    """
    if not body:
        return {}
    if _NUL.search(body):
        raise InvalidRequest("the body holds a NUL character (\\u0000), which cannot be stored")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not JSON: {error}") from error
    if body.count(b"[") + body.count(b"{") > _UNSUSPICIOUS_BRACKETS and not _can_be_written(value):
        raise InvalidRequest("the body is nested too deeply")
    return value


def _can_be_written(value: Any) -> bool:
    for _ in range(_ENVELOPE_DEPTH):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


def json_response(value: Any, *, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> web.Response:
    """A response that holds `value`."""
    return web.Response(body=to_json(value), status=status, headers=headers, content_type="application/json")


def json_error(status: int, detail: str, *, headers: dict[str, str] | None = None) -> web.Response:
    """The form every error of the API has."""
    return json_response({"detail": detail}, status=status, headers=headers)
