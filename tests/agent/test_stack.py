"""The order of the stack is checked when it is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.clarification import ClarificationMiddleware
from agent.config import AgentConfig
from agent.errors import StackOrderError
from agent.middleware.bookkeeping.thread_data import ThreadDataMiddleware
from agent.middleware.history.dangling_tool_call import DanglingToolCallMiddleware
from agent.paths import ThreadPaths
from agent.stack import ORDER, build_stack, check_order


def test_the_lead_agents_stack_stands_in_the_order_of_its_rules(tmp_path: Path) -> None:
    names = [
        middleware.name.removesuffix("Middleware") for middleware in build_stack(AgentConfig(), ThreadPaths(tmp_path))
    ]
    assert names == [
        "ThreadData", "Uploads", "DanglingToolCall", "LLMErrorHandling", "ToolErrorHandling", "DynamicContext",
        "Steering", "Title", "Clarification",
    ]  # fmt: skip


def test_what_is_switched_off_is_not_in_the_stack(tmp_path: Path) -> None:
    config = AgentConfig.model_validate({"title": {"enabled": False}, "clarification": {"enabled": False}})
    names = {middleware.name for middleware in build_stack(config, ThreadPaths(tmp_path))}
    assert not names & {"TitleMiddleware", "ClarificationMiddleware"}


@pytest.mark.parametrize(("outer", "inner", "why"), ORDER)
def test_each_rule_names_the_offender(tmp_path: Path, outer: str, inner: str, why: str) -> None:
    stack = build_stack(AgentConfig(), ThreadPaths(tmp_path))
    places = {middleware.name: place for place, middleware in enumerate(stack)}
    first, second = places[outer], places[inner]
    stack[first], stack[second] = stack[second], stack[first]
    with pytest.raises(StackOrderError):
        check_order(stack)
    with pytest.raises(StackOrderError, match=f"{outer} must stand before {inner}"):
        check_order([stack[first], stack[second]])


def test_clarification_anywhere_but_last_is_an_error() -> None:
    with pytest.raises(StackOrderError, match="ClarificationMiddleware must stand last"):
        check_order([ClarificationMiddleware(), ThreadDataMiddleware()])


def test_a_middleware_twice_is_an_error() -> None:
    with pytest.raises(StackOrderError, match="DanglingToolCallMiddleware stands twice"):
        check_order([DanglingToolCallMiddleware(), ThreadDataMiddleware(), DanglingToolCallMiddleware()])
