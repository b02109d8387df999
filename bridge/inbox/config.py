"""The `inbox` section of the configuration."""

from pydantic import BaseModel, ConfigDict, Field


class InboxConfig(BaseModel):
    """How long an arrived message waits for others that belong to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    debounce_seconds: float = Field(default=0, ge=0, le=30)
    """Messages sent within so short a time become one turn; 0 answers each at once."""
    album_seconds: float = Field(default=0.8, ge=0, le=30)
    """Some platforms send an album picture by picture with no mark at the last; so long after each the next is awaited."""
    overheard_messages: int = Field(default=0, ge=0, le=50)
    """Called in a group, the agent is told so many messages that were said there just before; they are kept in memory only."""
