"""What puts spoken words into writing."""

from pathlib import Path
from typing import Protocol, runtime_checkable


@runtime_checkable
class Transcriber(Protocol):
    """A service or a model of one's own; its class is built with the section `transcription` and must be quick to build."""

    async def transcribe(self, audio: Path, mime_type: str, language: str | None) -> str:
        """The words of a recording, "" if there are none. Raises TranscriptionFailed; must not block the event loop."""

    async def close(self) -> None:
        """Let go of connections; nothing is called after this."""
