"""Asking the person: the tool the model calls, and the middleware that ends the run with the question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict, Field

from agent.clarification.request import (
    ASK_CLARIFICATION,
    ClarificationRequest,
    ClarificationType,
    clarification_request,
)
from agent.context import RunContext
from agent.messages import keep_tool_calls
from agent.middleware.foldable import FoldableMiddleware


class ClarificationConfig(BaseModel):
    """Whether the agent may ask."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True


@tool(ASK_CLARIFICATION)
async def _ask_clarification(
    question: Annotated[str, Field(description="The question, in the person's language.")],
    clarification_type: Annotated[ClarificationType, Field(description="Why you ask.")] = "missing_info",
    context: Annotated[str | None, Field(description="What you know already, in a sentence or two.")] = None,
    options: Annotated[
        list[str] | None, Field(description="Answers to choose from, if there are likely ones; at most 24.")
    ] = None,
    multiple: Annotated[bool, Field(description="Whether several of the options may be chosen.")] = False,
    required: Annotated[bool, Field(description="With multiple: whether at least one must be.")] = True,
    fields: Annotated[
        list[dict[str, Any]] | None,
        Field(description="Several things to fill in at once: {name, label, options?, multiple?, required?}."),
    ] = None,
) -> str:
    """Ask the person one question and wait for the answer. Look things up before you ask; ask before anything risky."""
    raise NotImplementedError("the clarification middleware answers this call")


def clarification_tool() -> BaseTool:
    """Give the tool the model calls; it is never run, the middleware takes its calls."""
    return _ask_clarification


class ClarificationMiddleware(FoldableMiddleware):
    """Turns a call of the tool into a question and ends the run; the person's answer begins the next turn.

    Innermost of all, so that it sees the model's raw answer. Other calls in the same answer are taken out: nothing
    may happen before the person has answered. The end is asked for from here and not from the tool call, since a
    tool's `goto` does not stop a run in which another tool was called as well.
    """

    async def awrap_model_call(
        self,
        request: ModelRequest[RunContext],
        handler: Callable[[ModelRequest[RunContext]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Answer the first question of the model's answer, if it has one."""
        response = await handler(request)
        asking = next(((m, call) for m in response.result if isinstance(m, AIMessage) for call in _questions(m)), None)
        if asking is None:
            return response
        message, call = asking
        call_id = call["id"] or f"ask_{message.id}"
        call = ToolCall(name=call["name"], args=call["args"], id=call_id, type="tool_call")
        kept = keep_tool_calls(message, {call_id}).model_copy(update={"tool_calls": [call]})
        result = ModelResponse(result=[kept, _as_message(clarification_request(call))])
        return ExtendedModelResponse(result, Command(update={"jump_to": "end"}))


def _questions(message: AIMessage) -> list[ToolCall]:
    return [call for call in message.tool_calls if call["name"] == ASK_CLARIFICATION]


def _as_message(request: ClarificationRequest) -> ToolMessage:
    return ToolMessage(
        request.text(),
        id=request.id,
        name=ASK_CLARIFICATION,
        tool_call_id=request.call_id,
        artifact={"human_input": request.payload()},
    )
