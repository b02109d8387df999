"""JSON in and out."""

import re
from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web

from bridge.errors import InvalidRequest
from bridge.runs.jsonable import to_json

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def from_json(body: bytes) -> Any:
    """Read a body; an empty one is an empty object.

    Raises InvalidRequest for what is not JSON, and for a NUL character, which PostgreSQL cannot store.
    """
    if not body:
        return {}
    if _NUL.search(body):
        raise InvalidRequest("the body holds a NUL character (\\u0000), which cannot be stored")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not JSON: {error}") from error


def json_response(value: Any, *, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> web.Response:
    """A response that holds `value`."""
    return web.Response(body=to_json(value), status=status, headers=headers, content_type="application/json")


def json_error(status: int, detail: str, *, headers: dict[str, str] | None = None) -> web.Response:
    """The form every error of the API has."""
    return json_response({"detail": detail}, status=status, headers=headers)
