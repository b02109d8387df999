"""Files into a thread's folder: named safely, never over another one, bounded while they arrive."""

import asyncio
import logging
import os
import secrets
import shutil
import unicodedata
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import stamina

from agent.errors import AgentError
from agent.paths import ThreadPaths
from bridge.errors import InvalidRequest, TooLarge
from bridge.files.artifacts import mime_type
from bridge.files.config import UploadsConfig
from channels.contract import Channel, ChannelError, FileRef

logger = logging.getLogger(__name__)

_VIRTUAL = "/mnt/user-data/uploads"
_LONGEST_NAME_BYTES = 200
_LONGEST_SUFFIX_BYTES = 20


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in the thread's uploads."""

    path: str  # virtual
    name: str
    size_bytes: int
    mime_type: str

    @property
    def is_image(self) -> bool:
        """Whether it can be looked at."""
        return self.mime_type.startswith("image/")


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that did not come, and the sentence that says why."""

    name: str
    reason: str


class Uploads:
    """Puts files people send into the uploads of a thread."""

    def __init__(self, paths: ThreadPaths, config: UploadsConfig) -> None:
        self._paths = paths
        self._config = config

    async def save(self, thread_id: str, name: str, chunks: AsyncIterator[bytes]) -> Upload:
        """Store a file that arrives in pieces. Raises TooLarge or InvalidRequest; nothing is left behind then."""
        staging = await self._staging(thread_id)
        try:
            await self._receive(staging, chunks)
            return await asyncio.to_thread(_publish, staging, self._paths.uploads(thread_id), safe_name(name))
        finally:
            await asyncio.to_thread(staging.unlink, missing_ok=True)

    async def fetch(
        self, thread_id: str, channel: Channel, files: Sequence[FileRef], *, event_id: int
    ) -> tuple[list[Upload], list[Refused]]:
        """Bring the files of a message here. One that cannot come, also when asked for again, says why; the others still do.

        Until `fetch_done` the files of an event (the message's number in the inbox) come once, however often they are fetched.
        """
        uploads: list[Upload] = []
        refused = [Refused(file.name, self._too_many()) for file in files[self._config.max_files :]]
        for number, file in enumerate(files[: self._config.max_files]):
            came = self._came(thread_id) / f"{event_id}-{number}"
            try:
                uploads.append(await self._fetch(thread_id, channel, file, came))
            except TooLarge as error:
                refused.append(Refused(file.name, error.user_message or str(error)))
            except ChannelError as error:
                logger.warning("file %r did not come: %s", file.name, error)
                refused.append(Refused(file.name, error.user_message or "it could not be fetched"))
        return uploads, refused

    async def fetch_done(self, thread_id: str) -> None:
        """What the thread's turn has fetched is written down elsewhere."""
        await asyncio.to_thread(shutil.rmtree, self._came(thread_id), ignore_errors=True)

    def real_path(self, thread_id: str, upload: Upload) -> Path:
        """Where the file lies. Raises AgentError for a path out of the thread."""
        return self._paths.resolve(thread_id, upload.path)

    def saved(self, thread_id: str, ref: FileRef) -> Upload | None:
        """The upload a reference of `save` names, if it is there (its `ref` is the virtual path)."""
        if not ref.ref.startswith(_VIRTUAL + "/"):
            return None
        try:
            real = self._paths.resolve(thread_id, ref.ref)
            return _described(real, real.name) if real.is_file() else None
        except (AgentError, OSError):
            return None

    async def _fetch(self, thread_id: str, channel: Channel, file: FileRef, came: Path) -> Upload:
        if (saved := await asyncio.to_thread(self.saved, thread_id, file)) is not None:
            return saved
        if not await asyncio.to_thread(came.exists):
            await self._download(thread_id, channel, file, came)
        return await asyncio.to_thread(_publish_once, came, self._paths.uploads(thread_id), safe_name(file.name))

    async def _download(self, thread_id: str, channel: Channel, file: FileRef, came: Path) -> None:
        self._check_size(file.size_bytes or 0)
        staging = await self._staging(thread_id)
        try:
            await _download(channel, file, staging)
            self._check_size((await asyncio.to_thread(staging.stat)).st_size)
            await asyncio.to_thread(came.parent.mkdir, exist_ok=True)
            await asyncio.to_thread(staging.replace, came)
        finally:
            await asyncio.to_thread(staging.unlink, missing_ok=True)

    def _came(self, thread_id: str) -> Path:
        return self._paths.staging(thread_id) / "fetched"

    async def _staging(self, thread_id: str) -> Path:
        await self._paths.create(thread_id)
        folder = self._paths.staging(thread_id)
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        return folder / secrets.token_hex(8)

    async def _receive(self, staging: Path, chunks: AsyncIterator[bytes]) -> None:
        size = 0
        with await asyncio.to_thread(staging.open, "xb") as file:
            async for chunk in chunks:
                size += len(chunk)
                self._check_size(size)
                await asyncio.to_thread(file.write, chunk)
        if size == 0:
            raise InvalidRequest("the file is empty", user_message="The file is empty.")

    def _check_size(self, size: int) -> None:
        if size > self._config.max_file_bytes:
            limit = self._config.max_file_bytes / (1024 * 1024)
            raise TooLarge(f"{size} bytes", user_message=f"it is larger than {limit:.0f} MB, the most that is taken")

    def _too_many(self) -> str:
        return f"more than {self._config.max_files} files came with one message"


def safe_name(name: str) -> str:
    """A plain file name out of whatever was sent: no folders, no control characters, not hidden, not too long."""
    base = PurePosixPath(name.replace("\\", "/")).name
    text = "".join(char for char in unicodedata.normalize("NFC", base) if char.isprintable()).strip().lstrip(".")
    stem, suffix = os.path.splitext(text)  # noqa: PTH122 — of a text, not of a path
    return (_cut(stem, _LONGEST_NAME_BYTES) or "file") + _cut(suffix, _LONGEST_SUFFIX_BYTES)


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode("utf-8", "ignore")


async def _download(channel: Channel, file: FileRef, destination: Path) -> None:
    """Patiently: the turn waits for its files, and a platform that is unwell is often well again soon."""
    async for attempt in stamina.retry_context(on=_worth_retrying, attempts=4, timeout=60.0):
        with attempt:
            await asyncio.to_thread(destination.unlink, missing_ok=True)
            await channel.download(file, destination)


def _worth_retrying(error: Exception) -> bool | float:
    if isinstance(error, ChannelError) and error.retryable:
        return float(getattr(error, "retry_after_seconds", 0)) or True
    return False


def _publish(staging: Path, folder: Path, name: str) -> Upload:
    """Give the file its name, or the next free one; a hard link fails where a name is taken, so nothing is ever overwritten."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 — of a text, not of a path
    number = 0
    while True:
        candidate = name if number == 0 else f"{stem}_{number}{suffix}"
        try:
            (folder / candidate).hardlink_to(staging)
        except FileExistsError:
            number += 1
            continue
        return _described(folder / candidate, candidate)


def _publish_once(came: Path, folder: Path, name: str) -> Upload:
    """The same, unless the file stands there under some name already: both names are of one file."""
    inode = came.stat().st_ino
    with os.scandir(folder) as entries:
        published = next((entry.name for entry in entries if entry.inode() == inode), None)
    return _described(folder / published, published) if published else _publish(came, folder, name)


def _described(real: Path, name: str) -> Upload:
    return Upload(f"{_VIRTUAL}/{name}", name, real.stat().st_size, mime_type(real))


def as_message_files(uploads: Sequence[Upload]) -> list[Mapping[str, object]]:
    """What the agent finds in a human message's `additional_kwargs["files"]`."""
    return [
        {"filename": upload.name, "size": upload.size_bytes, "path": upload.path, "is_image": upload.is_image}
        for upload in uploads
    ]
