"""Builds the transcriber that the configuration names."""

from agent.class_path import load_class
from agent.errors import ClassNotLoaded
from bridge.errors import ConfigError
from bridge.transcription.config import TranscriptionConfig
from bridge.transcription.contract import Transcriber


def build_transcriber(config: TranscriptionConfig) -> Transcriber | None:
    """The transcriber, None where none is wanted (imports its package: blocking). Raises ConfigError."""
    if not config.enabled:
        return None
    try:
        made: type[Transcriber] = load_class(config.use, Transcriber)  # type: ignore[type-abstract]  # only a bound
        return made(config)  # type: ignore[call-arg]  # a protocol says nothing of how it is built
    except ClassNotLoaded as error:
        raise ConfigError(f"transcription.use: {error}") from error
    except (TypeError, ValueError) as error:
        raise ConfigError(f"transcription: {config.use} cannot be built: {error}") from error
