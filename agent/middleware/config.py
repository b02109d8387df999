"""The sections of the configuration that belong to middlewares."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class TitleConfig(BaseModel):
    """How a thread gets its title."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    max_words: int = Field(default=6, ge=1)
    max_chars: int = Field(default=60, ge=2)
    """The longest title, the ellipsis included."""


class LlmCallConfig(BaseModel):
    """How often a failed call of the model is tried again, and how long to wait before."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    retry_max_attempts: int = Field(default=3, ge=1)
    """Calls in all, the first one included."""
    retry_base_delay_ms: int = Field(default=1_000, ge=0)
    retry_cap_delay_ms: int = Field(default=8_000, ge=0)
    """The longest wait of our own choosing."""
    retry_after_limit_ms: int = Field(default=60_000, ge=0)
    """The longest wait a provider may ask for; for more, the call fails at once and says so."""
