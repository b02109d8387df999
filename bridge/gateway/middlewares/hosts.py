"""Refuses requests under a foreign host name: a page that rebinds its DNS name to this machine sends its own."""

from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bridge.gateway.encoding import json_error
from bridge.gateway.webhooks import Webhooks

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def host_name(authority: str) -> str | None:
    """The name in a Host header, without port and brackets, in lower case; None for what is no host."""
    try:
        return urlsplit(f"//{authority}").hostname
    except ValueError:
        return None


def only_hosts_of(bound_host: str, webhooks: Webhooks) -> Middleware:
    """A middleware that answers to the names of loopback and to the bound host only; webhooks are called by public names."""
    names = _LOOPBACK_NAMES | {bound_host.lower()}

    @web.middleware
    async def known_host(request: web.Request, handler: Handler) -> web.StreamResponse:
        if host_name(request.headers.get("Host", "")) not in names and not webhooks.take(request):
            return json_error(HTTPStatus.FORBIDDEN, "This server does not answer to that host name.")
        return await handler(request)

    return known_host
