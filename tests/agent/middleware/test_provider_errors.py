"""What a provider's error means for the next attempt and for the person."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx2
import openai
import pytest

from agent.errors import ModelCallFailed
from agent.middleware.config import LlmCallConfig
from agent.middleware.model_calls.llm_error_handling import LLMErrorHandlingMiddleware
from agent.middleware.model_calls.provider_errors import described, read_failure

URL = "http://someone:sk-secret@models.example:8080/v1/chat?api_key=sk-secret"
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


class StatusError(Exception):
    def __init__(self, status: int, code: str | None = None, headers: dict[str, str] | None = None) -> None:
        super().__init__("the body of the answer, with sk-secret in it")
        self.status_code = status
        self.code = code
        self.response = type("Response", (), {"headers": headers or {}})()


class APITimeoutError(Exception):
    pass


class ReadError(type("TransportError", (Exception,), {})):  # type: ignore[misc]
    pass


PASSING_STATUSES = (408, 409, 425, 429, 500, 502, 503, 504, 529)
UNREACHED = (TimeoutError(), ConnectionResetError(), APITimeoutError(), ReadError())


@pytest.mark.parametrize("error", [*map(StatusError, PASSING_STATUSES), *UNREACHED], ids=repr)
def test_what_may_pass_is_tried_again(error: Exception) -> None:
    assert read_failure(error).retryable


@pytest.mark.parametrize(
    "error",
    [*map(StatusError, (400, 401, 402, 403, 404, 413, 422)), StatusError(429, "insufficient_quota"), ValueError("bug")],
    ids=repr,
)
def test_what_stays_is_not(error: Exception) -> None:
    failure = read_failure(error)
    assert not failure.retryable
    assert "secret" not in failure.user_message
    assert failure.user_message.endswith(".")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"Retry-After": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30),
        ({"Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert read_failure(StatusError(429, headers=headers), NOW).retry_after_seconds == seconds


class Attempts:
    """Calls that fail with these errors in turn; the waits between them and what was told are kept."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.waits: list[float] = []
        self.told: list[dict[str, Any]] = []
        self.runtime = type("Runtime", (), {"stream_writer": self.told.append})()

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def handler(self, request: Any) -> Any:
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    async def through(self, **config: int) -> Any:
        middleware = LLMErrorHandlingMiddleware(
            LlmCallConfig(**config), sleep=self.sleep, uniform=lambda low, high: high
        )
        return await middleware.awrap_model_call(self, self.handler)  # type: ignore[arg-type]


async def test_waits_grow_from_the_last_one_up_to_the_cap() -> None:
    attempts = Attempts(*[StatusError(500)] * 4)
    assert await attempts.through(retry_max_attempts=5) == "answer"
    assert attempts.waits == [3, 8, 8, 8]
    assert [told["attempt"] for told in attempts.told] == [1, 2, 3, 4]


async def test_the_provider_decides_how_long_to_wait() -> None:
    attempts = Attempts(StatusError(429, headers={"retry-after": "20"}))
    assert await attempts.through() == "answer"
    assert attempts.waits == [20]


async def test_a_wait_nobody_would_sit_out_ends_the_call() -> None:
    attempts = Attempts(StatusError(429, headers={"retry-after": "3600"}))
    with pytest.raises(ModelCallFailed, match="http_429"):
        await attempts.through()
    assert attempts.waits == []


async def test_after_the_last_attempt_the_failure_names_its_cause() -> None:
    attempts = Attempts(*[StatusError(503)] * 3)
    with pytest.raises(ModelCallFailed) as failed:
        await attempts.through()
    assert len(attempts.waits) == 2
    assert failed.value.user_message == "The model is busy."
    assert isinstance(failed.value.__cause__, StatusError)


def _unreached(cause: Exception) -> openai.APIConnectionError:
    try:
        try:
            raise cause
        except OSError as error:
            raise openai.APIConnectionError(request=httpx2.Request("POST", URL)) from error
    except openai.APIConnectionError as error:
        return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            _unreached(ConnectionRefusedError(111, "Connection refused")),
            "APIConnectionError, host models.example:8080, ConnectionRefusedError: Connection refused",
        ),
        (_unreached(OSError("sk-secret")), "APIConnectionError, host models.example:8080, OSError"),
        (httpx2.ReadError("sk-secret"), "ReadError"),
        (
            ConnectionResetError(104, "Connection reset by peer"),
            "ConnectionResetError, ConnectionResetError: Connection reset by peer",
        ),
        (StatusError(500), "StatusError"),
    ],
    ids=repr,
)
def test_the_log_says_which_host_was_not_reached_and_why_and_no_secret(error: Exception, said: str) -> None:
    """Symptom: "the model gave no answer (connection, APIConnectionError)" left the operator to guess."""
    assert described(error) == said
