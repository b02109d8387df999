"""Turns whatever a route raises into `{"detail": …}`."""

import logging
from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Handler

from agent.errors import AgentError
from bridge.errors import BridgeError
from bridge.gateway.encoding import json_error
from bridge.gateway.statuses import KnownError, status_of
from channels.contract import ChannelError, RateLimited

_log = logging.getLogger(__name__)

_NOBODY_READS = 499  # what nginx calls it in its log
GENERIC_DETAIL = "Something went wrong here; the server's log says what."


@web.middleware
async def errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer errors in one form. A 5xx says nothing of its cause: that is for the log."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        return _of_http(error)
    except (BridgeError, AgentError, ChannelError) as error:
        return _of_ours(request, error)
    except Exception as error:  # noqa: BLE001 - the edge of a request: one failure must not reach the others
        if isinstance(error, ConnectionError) and _is_gone(request):
            return json_error(_NOBODY_READS, "The client went away.")
        _log.exception("%s %s failed", request.method, request.path)
        return json_error(HTTPStatus.INTERNAL_SERVER_ERROR, GENERIC_DETAIL)


def _is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def _of_http(error: web.HTTPException) -> web.Response:
    if error.status < HTTPStatus.BAD_REQUEST:
        raise error
    kept = {
        name: value for name, value in error.headers.items() if name in {"Allow", "WWW-Authenticate", "Retry-After"}
    }
    return json_error(error.status, error.reason, headers=kept)


def _of_ours(request: web.Request, error: KnownError) -> web.Response:
    status = status_of(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("%s %s failed with %s", request.method, request.path, error.code, exc_info=error)
    return json_error(status, _detail(error, status), headers=_retry_after(error))


def _detail(error: KnownError, status: HTTPStatus) -> str:
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        return error.user_message or "Not available now; try again in a moment."
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return GENERIC_DETAIL
    return str(error)


def _retry_after(error: KnownError) -> dict[str, str]:
    if isinstance(error, RateLimited):
        return {"Retry-After": str(max(1, round(error.retry_after_seconds)))}
    return {"Retry-After": "1"} if error.retryable else {}
