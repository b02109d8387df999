"""A transcriber as somebody would bring it: the configuration names it, and the program loads it."""

import asyncio
from pathlib import Path

from bridge.errors import TranscriptionFailed
from bridge.transcription import TranscriptionConfig

RECORDING = b"OggS"
"""How a recording begins; what it says follows as text."""


class Ears:
    """Hears what the bytes of a recording say, in capitals, where it is in the language that is configured."""

    def __init__(self, config: TranscriptionConfig) -> None:
        self._expected = config.language

    async def transcribe(self, audio: Path, mime_type: str, language: str | None) -> str:
        """See `Transcriber.transcribe`."""
        heard = await asyncio.to_thread(audio.read_bytes)
        if not mime_type.startswith("audio/") or language != self._expected:
            raise TranscriptionFailed(f"{mime_type} in {language}")
        return heard.removeprefix(RECORDING).decode().upper()

    async def close(self) -> None:
        """Nothing to let go of."""
