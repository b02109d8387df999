"""The ids in a path."""

import re

from aiohttp import web

from bridge.errors import InvalidRequest

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def path_id(request: web.Request, name: str) -> str:
    """The path's `name`; raises InvalidRequest for what no thread, run or checkpoint can be called."""
    value = request.match_info[name]
    if not _ID.fullmatch(value):
        raise InvalidRequest(f"{name} must be 1 to 64 letters, digits, - or _")
    return value
