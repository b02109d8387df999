"""The mind: LangGraph, models and tools; it knows nothing of chats or HTTP."""

from __future__ import annotations

from agent.config import AgentConfig
from agent.context import RunContext, SteeringSource
from agent.errors import (
    AgentError,
    CheckpointNotStored,
    LeaseLost,
    ModelCallFailed,
    ModelNotConfigured,
    PathOutside,
    StackOrderError,
    StepLimitReached,
    ToolFailed,
    UnknownAssistant,
    UnknownCheckpoint,
)
from agent.runs import AssistantInfo, Continuation, RunRequest
from agent.runtime import AgentRuntime

__all__ = [
    "AgentConfig",
    "AgentError",
    "AgentRuntime",
    "AssistantInfo",
    "CheckpointNotStored",
    "Continuation",
    "LeaseLost",
    "ModelCallFailed",
    "ModelNotConfigured",
    "PathOutside",
    "RunContext",
    "RunRequest",
    "StackOrderError",
    "SteeringSource",
    "StepLimitReached",
    "ToolFailed",
    "UnknownAssistant",
    "UnknownCheckpoint",
]
