"""Voice messages of a turn, put into writing."""

import asyncio
import logging
from collections.abc import Sequence

from bridge.errors import TranscriptionFailed
from bridge.files.uploads import Upload, Uploads
from bridge.transcription import Transcriber, TranscriptionConfig

logger = logging.getLogger(__name__)

_MOST_AT_ONCE = 4
_NOT_HEARD = "This bot does not put recordings into writing, so it was not told what is said in {!r}. Please write it."


class Voices:
    """Has recordings transcribed, where that is configured; what fails is said, and the recording stays a file."""

    def __init__(self, uploads: Uploads, transcriber: Transcriber | None, config: TranscriptionConfig) -> None:
        self._uploads = uploads
        self._transcriber = transcriber
        self._config = config
        self._room = asyncio.Semaphore(_MOST_AT_ONCE)

    async def transcribed(
        self, thread_id: str, uploads: Sequence[Upload], *, is_all: bool
    ) -> tuple[str, Sequence[str]]:
        """(what is said in those that are recordings, a sentence for each that could not be understood).

        Where nobody transcribes, that is worth a sentence only if the recording `is_all` the person said.
        """
        recordings = [upload for upload in uploads if upload.mime_type.startswith("audio/")]
        if self._transcriber is None:
            return "", [_NOT_HEARD.format(upload.name) for upload in recordings if is_all]
        spoken: list[str] = []
        problems: list[str] = []
        for upload in recordings:
            try:
                spoken.append(await self._words(self._transcriber, thread_id, upload))
            except TranscriptionFailed as error:
                logger.warning("a recording was not transcribed: %s", error)
                reason = error.user_message or "it could not be understood"
                problems.append(f"The recording {upload.name!r} could not be transcribed: {reason}.")
        return "\n\n".join(spoken), problems

    async def _words(self, transcriber: Transcriber, thread_id: str, upload: Upload) -> str:
        try:
            audio = await asyncio.to_thread(self._uploads.real_path, thread_id, upload)
            async with self._room, asyncio.timeout(self._config.timeout_seconds):
                words = await transcriber.transcribe(audio, upload.mime_type, self._config.language)
        except TimeoutError as error:
            raise TranscriptionFailed("no answer in time", user_message="it took too long") from error
        except TranscriptionFailed:
            raise
        except Exception as error:  # a transcriber may be anybody's: the turn goes on without what it was to give
            logger.exception("the transcriber failed")
            raise TranscriptionFailed(repr(error)) from error
        if not words.strip():
            raise TranscriptionFailed("no words", user_message="there are no words in it")
        return words.strip()
