"""Files out of a thread's folder, safely."""

import asyncio
import mimetypes
from pathlib import Path

import filetype

from agent.errors import AgentError
from agent.paths import ThreadPaths
from bridge.errors import NotFound
from channels.contract import OpenedFile

_READABLE = ("/mnt/user-data/outputs/", "/mnt/user-data/uploads/")


class Artifacts:
    """Resolves virtual paths of threads to real files people may be given: outputs and uploads, nothing else."""

    def __init__(self, paths: ThreadPaths) -> None:
        self._paths = paths

    async def open(self, thread_id: str, virtual: str) -> OpenedFile:
        """The file behind the path. Raises NotFound for everything that is not a regular file inside those folders."""
        return await asyncio.to_thread(self._open, thread_id, virtual)

    def _open(self, thread_id: str, virtual: str) -> OpenedFile:
        if not virtual.startswith(_READABLE):
            raise NotFound(f"no such file: {virtual}", user_message="There is no such file.")
        try:
            real = self._paths.resolve(thread_id, virtual)
            is_file = real.is_file()
        except (AgentError, OSError):  # the system's error would name where the thread lies
            is_file = False
        if not is_file:
            raise NotFound(f"no such file: {virtual}", user_message="There is no such file.")
        return OpenedFile(real, real.name, mime_type(real), real.stat().st_size)


def mime_type(path: Path) -> str:
    """What the file is: by its first bytes where those are telling, else by its name."""
    by_content = filetype.guess_mime(str(path))
    by_name, _ = mimetypes.guess_type(path.name)
    return by_content or by_name or "application/octet-stream"
