"""Lets nobody in without the access token, where one is set."""

from http import HTTPStatus
from urllib.parse import urlencode

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bridge.gateway.access import AccessToken
from bridge.gateway.encoding import json_error
from bridge.gateway.webhooks import Webhooks

SIGN_IN_PATH = "/access"
_OPEN_PATHS = frozenset({"/health", "/health/live", SIGN_IN_PATH})


def only_with(token: AccessToken, webhooks: Webhooks) -> Middleware:
    """A middleware that sends a browser without the token to the sign-in page and refuses everybody else but webhooks."""

    @web.middleware
    async def access(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in _OPEN_PATHS or webhooks.take(request) or token.admits(request):
            return await handler(request)
        if _is_navigation(request):
            raise web.HTTPSeeOther(f"{SIGN_IN_PATH}?{urlencode({'next': request.path_qs})}")
        return json_error(
            HTTPStatus.UNAUTHORIZED,
            "An access token is needed: send it as `Authorization: Bearer …` or `X-Api-Key`.",
            headers={"WWW-Authenticate": "Bearer"},
        )

    return access


def _is_navigation(request: web.Request) -> bool:
    if request.method != "GET":
        return False
    mode = request.headers.get("Sec-Fetch-Mode")
    return mode == "navigate" if mode else "text/html" in request.headers.get("Accept", "")
