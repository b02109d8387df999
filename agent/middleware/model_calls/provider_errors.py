"""What a failed call of a model means: whether to try again, how long to wait, what to tell the person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRIED_STATUSES = frozenset({408, 409, 425, 429})
SPENT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
# Providers share no base class for a connection that failed or a stream that stalled: their names are what they share.
UNREACHED_NAMES = frozenset(
    {"APIConnectionError", "APITimeoutError", "TransportError", "TimeoutException", "StreamChunkTimeoutError"}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call, read once."""

    reason: str
    """A word for programs, no secret in it."""
    user_message: str
    retryable: bool
    retry_after_seconds: float | None = None
    """What the provider asked for."""


def read_failure(error: Exception, now: datetime | None = None) -> Failure:
    """Read a provider's exception by its status, its code and its headers."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _by_status(error, status, now or datetime.now(UTC))
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, TimeoutError) or names & {"APITimeoutError", "TimeoutException"}:
        return Failure("timeout", "The model took too long to answer.", retryable=True)
    if isinstance(error, ConnectionError) or names & UNREACHED_NAMES:
        return Failure("connection", "The model could not be reached.", retryable=True)
    return Failure("unknown", "The call of the model failed.", retryable=False)


def described(error: Exception) -> str:
    """Say for the log what failed and, for a server that was not reached, which and why.

    Of a URL only the host, of a cause only its kind and the system's word for it: the rest may hold a key or the request.
    """
    if isinstance(getattr(error, "status_code", None), int):
        return type(error).__name__
    cause = _innermost(error)
    why = type(cause).__name__
    if isinstance(cause, OSError) and cause.strerror:
        why += f": {cause.strerror}"
    kind = type(error).__name__
    return ", ".join(filter(None, [kind, _host(error), why if cause is not error or why != kind else ""]))


def _innermost(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _host(error: Exception) -> str:
    try:
        url = getattr(getattr(error, "request", None), "url", None)
    except RuntimeError:  # httpx: "the .request property has not been set"
        return ""
    host, port = getattr(url, "host", None), getattr(url, "port", None)
    return "" if not host else f"host {host}:{port}" if port else f"host {host}"


def _by_status(error: Exception, status: int, now: datetime) -> Failure:
    if getattr(error, "code", None) in SPENT_CODES:
        return Failure("quota", "The quota of the model's account is used up.", retryable=False)
    if status in RETRIED_STATUSES or status >= 500:
        wait = retry_after_seconds(_headers(error), now)
        text = "The model is busy." if status in {429, 503, 529} else "The model's provider has a problem."
        return Failure(f"http_{status}", text, retryable=True, retry_after_seconds=wait)
    texts = {
        401: "The model refused the key it was called with.",
        402: "The quota of the model's account is used up.",
        403: "The key may not use this model.",
        404: "The provider does not know this model.",
        413: "The conversation has become too long for this model.",
    }
    return Failure(f"http_{status}", texts.get(status, "The model refused the request."), retryable=False)


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110 §10.2.3); None if there is none."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        value = headers.get("retry-after") or ""
        return max(0.0, float(value)) if value[:1].isdigit() else _until(value, now)
    except ValueError:
        return None


def _until(value: str, now: datetime) -> float | None:
    if not value:
        return None
    when = parsedate_to_datetime(value)
    return max(0.0, (when - now).total_seconds())


def _headers(error: Exception) -> Mapping[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in headers.items()}
