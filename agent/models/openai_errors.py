"""Turns what an HTTP answer or a broken connection means into the openai package's own exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx2
import openai
import orjson

_BY_STATUS: Final[Mapping[int, type[openai.APIStatusError]]] = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
}

_BODY_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""They describe the body as it travelled, not as it is kept here."""


def status_error(url: str, status: int, headers: Mapping[str, str], body: bytes) -> openai.APIStatusError:
    """Build the error of an answer with a failure status; its `response` keeps the headers (Retry-After)."""
    kept = {name: value for name, value in headers.items() if name.lower() not in _BODY_HEADERS}
    response = httpx2.Response(status, headers=kept, content=body, request=_request(url))
    told = _json(body)
    error = told.get("error", told) if isinstance(told, dict) else told
    message = f"Error code: {status}{f' - {_message(error)}' if _message(error) else ''}"
    fallback = openai.InternalServerError if status >= 500 else openai.APIStatusError
    return _BY_STATUS.get(status, fallback)(message, response=response, body=error)


def stream_error(url: str, error: Any) -> openai.APIError:
    """Build the error that a provider put into its stream, after the answer had begun."""
    return openai.APIError(_message(error) or "An error occurred during streaming", _request(url), body=error)


def connection_error(url: str, reason: str) -> openai.APIConnectionError:
    """Build the error of an answer that never came, or broke off."""
    return openai.APIConnectionError(message=f"Connection error: {reason}", request=_request(url))


def timeout_error(url: str) -> openai.APITimeoutError:
    """Build the error of a server that let the time pass."""
    return openai.APITimeoutError(_request(url))


def retry_delay(error: Exception) -> bool | float:
    """Say whether the same request may succeed later: no, yes, or after so many seconds (Retry-After)."""
    if isinstance(error, openai.APIConnectionError):
        return True
    if not isinstance(error, openai.APIStatusError):
        return False
    if error.status_code not in {408, 409, 429} and error.status_code < 500:
        return False
    asked = error.response.headers.get("retry-after", "")
    return float(asked) if asked.isdecimal() and int(asked) <= 60 else True


def _request(url: str) -> httpx2.Request:
    return httpx2.Request("POST", url)


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode(errors="replace")


def _message(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else error
    return message[:500] if isinstance(message, str) else ""
