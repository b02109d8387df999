"""The `transcription` section of the configuration."""

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class TranscriptionConfig(BaseModel):
    """Whether voice messages and audio files are put into words before the agent is told of them, and by whom."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = False
    use: str = "bridge.transcription.openai_compatible:OpenAICompatibleTranscriber"
    """The class, as `package.module:Class`: a `Transcriber` that is built with this section."""
    model: str = "whisper-1"
    """The provider's name of the model."""
    base_url: str | None = None
    """Where the service is; None is OpenAI's own."""
    api_key: SecretStr | None = None
    language: str | None = None
    """What people speak, as ISO 639-1 says it (`de`); None leaves it to the service to find out."""
    timeout_seconds: float = Field(default=120, gt=0, le=600)
    """For one recording; then the turn goes on with the file alone."""
