"""The `inbox` section of the configuration."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from bridge.clock import LONGEST_SECONDS
from channels.contract import InboundEvent


class InboxConfig(BaseModel):
    """What is done with a message when it has arrived."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    debounce_seconds: float = Field(default=0, ge=0, le=30)
    """Messages sent within so short a time become one turn; 0 answers each at once."""
    album_seconds: float = Field(default=0.8, ge=0, le=30)
    """Some platforms send an album picture by picture with no mark at the last; so long after each the next is awaited."""
    ask_when_older_than_seconds: float = Field(default=1800, ge=0)
    """A message so old when it arrives (the bot was away) is not simply answered: the person is asked first. 0 never asks."""
    forget_asked_after_seconds: float = Field(default=86_400, gt=0, le=LONGEST_SECONDS)
    """So long the person may say yes to such a message; then it is dropped."""
    overheard_messages: int = Field(default=0, ge=0, le=50)
    """Called in a group, the agent is told so many messages that were said there just before; they are kept in memory only."""

    def is_old(self, event: InboundEvent, now: datetime) -> bool:
        """Whether the person is asked before this is answered."""
        limit = self.ask_when_older_than_seconds
        return bool(limit) and (now - event.occurred_at).total_seconds() > limit
