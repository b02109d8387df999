"""THE middleware list, outermost first, with its conditions: the one place that states the order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from agent.clarification import ClarificationMiddleware
from agent.config import AgentConfig
from agent.errors import StackOrderError
from agent.folding import AnyMiddleware
from agent.middleware.bookkeeping.steering import SteeringMiddleware
from agent.middleware.bookkeeping.thread_data import ThreadDataMiddleware
from agent.middleware.bookkeeping.title import TitleMiddleware
from agent.middleware.bookkeeping.uploads import UploadsMiddleware
from agent.middleware.history.dangling_tool_call import DanglingToolCallMiddleware
from agent.middleware.model_calls.llm_error_handling import LLMErrorHandlingMiddleware
from agent.middleware.prompt.dynamic_context import DynamicContextMiddleware
from agent.middleware.tool_calls.tool_error_handling import ToolErrorHandlingMiddleware
from agent.paths import ThreadPaths

ORDER: tuple[tuple[str, str, str], ...] = (
    ("ThreadDataMiddleware", "UploadsMiddleware", "uploads are announced in the message that was stamped"),
    ("ThreadDataMiddleware", "DynamicContextMiddleware", "the date comes from the stamp"),
    ("UploadsMiddleware", "SteeringMiddleware", "a steering message must not pass for the turn's question"),
    ("DanglingToolCallMiddleware", "LLMErrorHandlingMiddleware", "a history is repaired once, not at every attempt"),
    ("DanglingToolCallMiddleware", "DynamicContextMiddleware", "nothing may come between a call and its result"),
    ("LLMErrorHandlingMiddleware", "DynamicContextMiddleware", "every attempt gets the same request"),
)
"""Outer, inner, and why."""
LAST = "ClarificationMiddleware"


def build_stack(config: AgentConfig, paths: ThreadPaths) -> list[AnyMiddleware]:
    """Build the lead agent's middlewares; raises `StackOrderError` if the list breaks a rule."""
    stack = list(_lead_stack(config, paths))
    check_order(stack)
    return stack


def _lead_stack(config: AgentConfig, paths: ThreadPaths) -> Iterator[AnyMiddleware]:
    yield ThreadDataMiddleware()
    yield UploadsMiddleware(paths)
    yield DanglingToolCallMiddleware()
    yield LLMErrorHandlingMiddleware(config.llm_call)
    yield ToolErrorHandlingMiddleware()
    yield DynamicContextMiddleware()
    yield SteeringMiddleware(paths)
    if config.title.enabled:
        yield TitleMiddleware(config.title)
    if config.clarification.enabled:
        yield ClarificationMiddleware()


def check_order(stack: Sequence[AnyMiddleware]) -> None:
    """Check the rules that the order must keep; raises `StackOrderError` naming the offender."""
    places = {middleware.name: place for place, middleware in enumerate(stack)}
    if len(places) < len(stack):
        names = sorted(middleware.name for middleware in stack)
        twice = next(name for name, following in pairwise(names) if name == following)
        raise StackOrderError(f"{twice} stands twice in the stack")
    for outer, inner, why in ORDER:
        if outer in places and inner in places and places[outer] > places[inner]:
            raise StackOrderError(f"{outer} must stand before {inner}: {why}")
    if LAST in places and places[LAST] != len(stack) - 1:
        raise StackOrderError(f"{LAST} must stand last: it takes the model's raw answer")
