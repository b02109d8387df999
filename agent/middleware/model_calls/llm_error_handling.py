"""LLMErrorHandlingMiddleware: a call that fails for a passing reason is made again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langgraph.errors import GraphBubbleUp

from agent.context import RunContext
from agent.errors import AgentError, ModelCallFailed
from agent.middleware.config import LlmCallConfig
from agent.middleware.foldable import FoldableMiddleware
from agent.middleware.model_calls.provider_errors import Failure, described, read_failure

ModelHandler = Callable[[ModelRequest[RunContext]], Awaitable[ModelResponse[Any]]]
BROKE_OFF = "The answer broke off in the middle."


class LLMErrorHandlingMiddleware(FoldableMiddleware):
    """Waits between attempts as the provider asks, else with decorrelated jitter; tells it as `llm_retry`.

    A call is not made again once text of its answer has reached the reader, who would see a second beginning behind
    the first: the answer then ends there, as a failure that says so. Thinking and tool calls do not count as text.
    """

    def __init__(
        self,
        config: LlmCallConfig,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        super().__init__()
        self._config = config
        self._sleep = sleep
        self._uniform = uniform

    async def awrap_model_call(self, request: ModelRequest[RunContext], handler: ModelHandler) -> ModelResponse[Any]:
        """Call the model until it answers; raises `ModelCallFailed` when there is no sense in another attempt."""
        wait_ms = float(self._config.retry_base_delay_ms)
        for attempt in range(1, self._config.retry_max_attempts + 1):
            seen = _TextSeen()
            try:
                with _listening(seen):
                    return await handler(request)
            except (GraphBubbleUp, AgentError):
                raise
            except Exception as error:
                failure = read_failure(error)
                wait_ms = self._next_wait_ms(wait_ms, failure)
                if seen.text or not self._tries_again(failure, attempt, wait_ms):
                    raise _given_up(failure, error, broke_off=seen.text) from error
            self._tell(request, failure, attempt, wait_ms)
            await self._sleep(wait_ms / 1000)
        raise AssertionError("the last attempt returns or raises")

    def _next_wait_ms(self, last_ms: float, failure: Failure) -> float:
        if failure.retry_after_seconds is not None:
            return failure.retry_after_seconds * 1000
        base, cap = self._config.retry_base_delay_ms, self._config.retry_cap_delay_ms
        return min(cap, self._uniform(base, max(base, last_ms * 3)))

    def _tries_again(self, failure: Failure, attempt: int, wait_ms: float) -> bool:
        attempts_left = attempt < self._config.retry_max_attempts
        return failure.retryable and attempts_left and wait_ms <= self._config.retry_after_limit_ms

    def _tell(self, request: ModelRequest[RunContext], failure: Failure, attempt: int, wait_ms: float) -> None:
        request.runtime.stream_writer(
            {
                "type": "llm_retry",
                "attempt": attempt,
                "max_attempts": self._config.retry_max_attempts,
                "wait_ms": round(wait_ms),
                "reason": failure.reason,
            }
        )


class _TextSeen(BaseCallbackHandler):
    """Notices that text of the answer went out."""

    run_inline = True

    def __init__(self) -> None:
        self.text = False

    def on_llm_new_token(self, token: str | list[str | dict[str, Any]], **kwargs: Any) -> None:
        blocks = [token] if isinstance(token, str) else token
        if any(block if isinstance(block, str) else block.get("type") == "text" for block in blocks):
            self.text = True


@contextmanager
def _listening(handler: BaseCallbackHandler) -> Iterator[None]:
    config = ensure_config()
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.add_handler(handler, inherit=True)
    else:
        callbacks = [*(callbacks or ()), handler]
    token = var_child_runnable_config.set({**config, "callbacks": callbacks})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _given_up(failure: Failure, error: Exception, *, broke_off: bool) -> ModelCallFailed:
    told = f"{BROKE_OFF} {failure.user_message}" if broke_off else failure.user_message
    return ModelCallFailed(f"the model gave no answer ({failure.reason}, {described(error)})", user_message=told)
