"""Reads a call's parameters from the query, a form, a multipart body or JSON, as the Bot API does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import BodyPartReader, web

from .errors import Refused


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that came with a multipart call."""

    name: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """A method call as it arrived: parameters not yet checked, texts where a form brought them."""

    method: str
    parameters: Mapping[str, Any]
    files: Mapping[str, SentFile]


async def read_call(method: str, request: web.Request) -> Call:
    """The call in `request`; raises `Refused` when its body can't be read."""
    parameters: dict[str, Any] = dict(request.query)
    files: dict[str, SentFile] = {}
    if request.content_type == "multipart/form-data":
        await _read_multipart(request, parameters, files)
    elif request.content_type == "application/json":
        parameters.update(_json_object(await request.read()))
    elif request.content_type == "application/x-www-form-urlencoded":
        parameters.update({name: str(value) for name, value in (await request.post()).items()})
    return Call(method, parameters, files)


async def _read_multipart(request: web.Request, parameters: dict[str, Any], files: dict[str, SentFile]) -> None:
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            raise Refused(400, "Bad Request: can't parse multipart request body", violation=True)
        content = bytes(await part.read())
        if part.filename is None:
            parameters[part.name] = content.decode()
        else:
            content_type = part.headers.get("Content-Type", "application/octet-stream")
            files[part.name] = SentFile(part.filename, content_type, content)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise Refused(400, "Bad Request: can't parse request: object expected as JSON body", violation=True)
    return value
