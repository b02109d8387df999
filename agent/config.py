"""AgentConfig: the features' sections of the configuration, composed."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from agent.clarification import ClarificationConfig
from agent.middleware.config import LlmCallConfig, TitleConfig
from agent.models import ModelConfig
from agent.sandbox import SandboxConfig
from agent.savers import CheckpointConfig


class AgentConfig(BaseModel):
    """Everything the agent can be told; each section stands beside its feature."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: Sequence[ModelConfig] = ()
    """The first one is the default; with none, the built-in demo model answers."""
    sandbox: SandboxConfig = SandboxConfig()
    title: TitleConfig = TitleConfig()
    llm_call: LlmCallConfig = LlmCallConfig()
    clarification: ClarificationConfig = ClarificationConfig()
    checkpoints: CheckpointConfig = CheckpointConfig()
    max_recursion_limit: int = Field(default=1_000, ge=2)
    """The most steps of a run, a step being a model call or the tools it asked for; also the default."""
