"""ToolErrorHandlingMiddleware: a failing tool answers with an error instead of ending the run."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypedDict

from langchain.agents.middleware import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from agent.errors import LeaseLost, PathOutside, ToolFailed
from agent.middleware.foldable import FoldableMiddleware

_log = logging.getLogger(__name__)

TOOL_META = "tool_meta"
LONGEST_DETAIL_CHARS = 500
HINT = "Try another way, or tell the person what is missing."

ErrorType = Literal["permission", "not_found", "transient", "invalid", "internal", "unknown"]
ToolHandler = Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]


class ToolMeta(TypedDict):
    """How a call went, for programs: nobody has to read it out of the text."""

    status: Literal["success", "error"]
    error_type: ErrorType | None
    recoverable_by_model: bool


class ToolErrorHandlingMiddleware(FoldableMiddleware):
    """Every result says in `additional_kwargs["tool_meta"]` how it went.

    Signals of the graph (interrupts, commands to a parent) pass, and so does the loss of the lease.
    """

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolMessage | Command[Any]:
        """Call the tool; turn an exception into a result the model can act on."""
        try:
            return _with_meta(await handler(request))
        except (GraphBubbleUp, LeaseLost):
            raise
        except Exception as error:  # noqa: BLE001  a tool may raise anything, and the run must go on
            _log.warning("tool %s failed", request.tool_call["name"], exc_info=error)
            return _failed(request, error)


def _failed(request: ToolCallRequest, error: Exception) -> ToolMessage:
    name = request.tool_call["name"]
    error_type = _error_type(error)
    return ToolMessage(
        f"{name} failed: {_detail(error)}. {HINT}",
        name=name,
        tool_call_id=request.tool_call["id"] or "",
        status="error",
        additional_kwargs={TOOL_META: _error_meta(error_type)},
    )


def _detail(error: Exception) -> str:
    # Errors meant for the model speak for themselves; the text of others may hold paths and secrets of this machine.
    meant_for_the_model = isinstance(error, ToolFailed | ToolException)
    return str(error)[:LONGEST_DETAIL_CHARS].rstrip(".") if meant_for_the_model else type(error).__name__


def _error_type(error: Exception) -> ErrorType:
    kinds: tuple[tuple[tuple[type[Exception], ...], ErrorType], ...] = (
        ((PathOutside, PermissionError), "permission"),
        ((FileNotFoundError,), "not_found"),
        ((TimeoutError, ConnectionError), "transient"),
        ((ToolFailed, ToolException), "invalid"),
    )
    return next((kind for classes, kind in kinds if isinstance(error, classes)), "internal")


def _error_meta(error_type: ErrorType) -> ToolMeta:
    return ToolMeta(status="error", error_type=error_type, recoverable_by_model=error_type != "internal")


def _with_meta(result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
    if isinstance(result, ToolMessage):
        return _stamped(result)
    if isinstance(result.update, dict) and isinstance(result.update.get("messages"), list):
        messages = [_stamped(m) if isinstance(m, ToolMessage) else m for m in result.update["messages"]]
        return Command(
            graph=result.graph, update={**result.update, "messages": messages}, resume=result.resume, goto=result.goto
        )
    return result


def _stamped(message: ToolMessage) -> ToolMessage:
    if TOOL_META in message.additional_kwargs:
        return message
    success = ToolMeta(status="success", error_type=None, recoverable_by_model=True)
    meta = success if message.status == "success" else _error_meta("invalid")
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, TOOL_META: meta}})
