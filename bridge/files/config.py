"""The `uploads` section of the configuration."""

from pydantic import BaseModel, ConfigDict, Field


class UploadsConfig(BaseModel):
    """What a person may send along with a message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_file_bytes: int = Field(default=50 * 1024 * 1024, ge=1)
    """A larger file is refused with a notice; a platform's own limit may be lower."""
    max_files: int = Field(default=10, ge=1)
    """Files of one message (an album counts as one)."""
