"""DanglingToolCallMiddleware: no broken pairing reaches a provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse

from agent.context import RunContext
from agent.messages import repair_pairing
from agent.middleware.foldable import FoldableMiddleware


class DanglingToolCallMiddleware(FoldableMiddleware):
    """Repairs the history of each request; the stored history stays as it happened."""

    async def awrap_model_call(
        self,
        request: ModelRequest[RunContext],
        handler: Callable[[ModelRequest[RunContext]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show the model a history in which every call has its result."""
        return await handler(request.override(messages=repair_pairing(request.messages)))
