"""Refuses what a page of another origin makes a browser send."""

from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from bridge.gateway.encoding import json_error


@web.middleware
async def same_origin(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let pass what no browser sent, what our own page sent, and a click on a link that leads here."""
    if _is_foreign(request):
        return json_error(HTTPStatus.FORBIDDEN, "Requests from other origins are not allowed.")
    return await handler(request)


def _authority(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_foreign(request: web.Request) -> bool:
    origin = request.headers.get("Origin")
    if origin is not None:
        # a proxy may end TLS and rename the host; a foreign page can add no header without a preflight we do not grant
        own = {request.headers.get(name, "").lower() for name in ("Host", "X-Forwarded-Host")}
        return (_authority(origin) or "null") not in own
    if request.headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}:
        return False
    return request.headers.get("Sec-Fetch-Mode") != "navigate" or request.method != "GET"
