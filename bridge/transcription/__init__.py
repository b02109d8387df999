"""What is spoken becomes text: the interface, and the class that asks an OpenAI-compatible service."""

from bridge.transcription.config import TranscriptionConfig
from bridge.transcription.contract import Transcriber
from bridge.transcription.factory import build_transcriber

__all__ = ["Transcriber", "TranscriptionConfig", "build_transcriber"]
