"""Asks a service that has OpenAI's `/audio/transcriptions`."""

from pathlib import Path

from openai import APIConnectionError, APIError, APIStatusError, AsyncOpenAI, OpenAIError, omit

from bridge.errors import TranscriptionFailed
from bridge.transcription.config import TranscriptionConfig

_RETRIES = 1


class OpenAICompatibleTranscriber:
    """Whisper and its like, at OpenAI's or any server that speaks as it does. Raises ValueError without a key for OpenAI's own."""

    def __init__(self, config: TranscriptionConfig) -> None:
        key = config.api_key.get_secret_value() if config.api_key else None
        if key is None and config.base_url is None:
            raise ValueError("api_key is missing")
        self._model = config.model
        self._client = AsyncOpenAI(
            api_key=key or "none", base_url=config.base_url, timeout=config.timeout_seconds, max_retries=_RETRIES
        )

    async def transcribe(self, audio: Path, mime_type: str, language: str | None) -> str:
        """See `Transcriber.transcribe`."""
        try:
            said = await self._client.audio.transcriptions.create(
                file=(audio.name, audio, mime_type), model=self._model, language=language or omit
            )
        except (OpenAIError, OSError) as error:
            raise TranscriptionFailed(str(error), user_message=_reason(error)) from error
        return said.text.strip()

    async def close(self) -> None:
        """See `Transcriber.close`."""
        await self._client.close()


def _reason(error: Exception) -> str:
    match error:
        case APIStatusError(status_code=401 | 403):
            return "the transcription service refuses the key"
        case APIStatusError(status_code=413):
            return "it is too long for the transcription service"
        case APIStatusError(status_code=429):
            return "the transcription service is busy"
        case APIConnectionError() | APIError(body=None):
            return "the transcription service could not be reached"
        case _:
            return "the transcription service does not take it"
