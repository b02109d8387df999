"""The `checkpoints` section of the configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class CheckpointConfig(BaseModel):
    """How much of a thread's past stays stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keep_turns: Annotated[int, Field(ge=1)] | Literal["all"] = 2
    """Turns whose last state is kept: going back one turn (retry, edit) needs two; `all` keeps every step."""
