"""The `sandbox` section of the configuration."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

LOCAL: Final = "agent.sandbox.local:LocalSandboxProvider"


class SandboxConfig(BaseModel):
    """Where the agent's files live, and how much of them passes at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    use: str = LOCAL
    """The provider, as `package.module:Class`; it is built with the thread paths and this section."""
    read_max_chars: int = Field(default=50_000, ge=100)
    """The most of a file that one read gives."""
    ls_max_chars: int = Field(default=20_000, ge=100)
    """The most of a listing that one call gives."""
    write_max_bytes: int = Field(default=80_000, ge=100)
    """The most that one write takes: longer answers of a model are often cut and stall the stream."""
    file_max_bytes: int = Field(default=50_000_000, ge=1_000)
    """The largest file that is appended to or edited."""
