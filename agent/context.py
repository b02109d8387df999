"""RunContext: who asks, where, and with which options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from langchain_core.messages import HumanMessage
from pydantic import BaseModel


class SteeringSource(Protocol):
    """Messages the person sends while the run works."""

    async def take(self) -> Sequence[HumanMessage]:
        """Give what has arrived, each message with a stable id.

        A message may be given again after a crash: its id makes the repeat replace instead of add.
        """
        ...


class RunOptions(BaseModel):
    """The part of a run's context that a client may choose; its JSON schema tells it so."""

    model_name: str | None = None
    thinking_enabled: bool = True
    is_plan_mode: bool = False
    subagent_enabled: bool = False


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run's surroundings, passed as LangGraph `context`; never stored in the thread's state."""

    thread_id: str
    run_id: str
    user_id: str = "default"
    """The acting user."""
    user_name: str | None = None
    model_name: str | None = None
    """None takes the first configured model."""
    thinking_enabled: bool = True
    is_plan_mode: bool = False
    subagent_enabled: bool = False
    steering: SteeringSource | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Keys of a client's `context` that are none of the above."""
