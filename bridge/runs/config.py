"""The `runs` section of the configuration."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bridge.clock import LONGEST_SECONDS


class RunsConfig(BaseModel):
    """How runs are leased, limited and stopped."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lease_seconds: float = Field(default=30, gt=0, le=LONGEST_SECONDS)
    """A run whose process does not renew for so long is taken over."""
    heartbeat_seconds: float = Field(default=10, gt=0, le=LONGEST_SECONDS)
    """How often the process renews; at most half the lease, so that one lost beat costs nothing."""
    max_attempts: int = Field(default=3, ge=1)
    """How often a run is begun or continued before it ends with an error: a run that kills its process must not do so for ever."""
    drain_seconds: float = Field(default=20, ge=0, le=LONGEST_SECONDS)
    """How long active runs may finish their step after SIGTERM."""
    stream_retention_seconds: float = Field(default=600, ge=0, le=LONGEST_SECONDS)
    """How long after its end a run's stream can be read again."""
    max_waiting_per_conversation: int = Field(default=20, ge=1)
    """More messages than this do not wait behind an active run; the person is told."""
    question_expiry_seconds: float = Field(default=86_400, gt=0, le=LONGEST_SECONDS)
    """How long a question of the agent waits for its answer; then it says that it has expired."""
    worker_concurrency: int = Field(default=64, ge=1)
    """Runs one process works on at a time."""

    @model_validator(mode="after")
    def _heartbeat_fits_lease(self) -> Self:
        if self.heartbeat_seconds > self.lease_seconds / 2:
            raise ValueError("heartbeat_seconds must be at most half of lease_seconds")
        return self
