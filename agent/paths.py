"""A thread's directories, and the translation between their virtual and real paths."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import Final

from agent.errors import PathOutside

VIRTUAL_ROOT: Final = PurePosixPath("/mnt/user-data")
"""Where the model sees the thread's directories, whatever the machine calls them."""

AREAS: Final = ("workspace", "uploads", "outputs")

_THREAD_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ThreadPaths:
    """Maps `/mnt/user-data/{workspace,uploads,outputs}` onto `<home>/threads/<thread_id>/…` and back.

    Every method raises `PathOutside` for a thread id that is not 1 to 64 letters, digits, `_` or `-`. Messages name
    virtual paths only, so that no error tells where on the machine a thread lives.
    """

    def __init__(self, home: Path) -> None:
        self._threads = home.resolve() / "threads"

    def root(self, thread_id: str) -> Path:
        """The folder that holds everything of one thread."""
        if not _THREAD_ID.fullmatch(thread_id):
            raise PathOutside(f"not a thread id: {thread_id!r}")
        return self._threads / thread_id

    def workspace(self, thread_id: str) -> Path:
        """Where the agent works; nobody else looks here."""
        return self.root(thread_id) / "workspace"

    def uploads(self, thread_id: str) -> Path:
        """What the person sent."""
        return self.root(thread_id) / "uploads"

    def outputs(self, thread_id: str) -> Path:
        """What the person may be given."""
        return self.root(thread_id) / "outputs"

    def staging(self, thread_id: str) -> Path:
        """Where files are put together before they appear under their name; on the same file system, never listed."""
        return self.root(thread_id) / ".staging"

    async def create(self, thread_id: str) -> None:
        """Make the thread's directories, where they are missing."""
        root = self.root(thread_id)
        await asyncio.to_thread(_make_directories, [root / area for area in AREAS])

    async def delete(self, thread_id: str) -> None:
        """Remove the thread's folder with all it holds; a missing one is as good as removed."""
        await asyncio.to_thread(shutil.rmtree, self.root(thread_id), ignore_errors=True)

    def resolve(self, thread_id: str, virtual: str) -> Path:
        """Give the real path behind a virtual one, links followed; the file itself need not exist.

        Reads links from the disk: call it in a worker thread. Raises `PathOutside` for a path that is not below a
        virtual directory, has `..` in it, or leaves its directory through a link.
        """
        area, rest = _split(virtual)
        base = self.root(thread_id) / area
        try:
            real = base.joinpath(*rest).resolve()
            settled = real.resolve() == real  # a link in a circle resolves to a path that would still be followed
        except (OSError, RuntimeError, ValueError) as error:
            raise PathOutside(f"not a usable path: {virtual}") from error
        if not settled or not real.is_relative_to(base):
            raise PathOutside(f"this path leaves {VIRTUAL_ROOT / area}: {virtual}")
        return real

    def virtual(self, thread_id: str, real: Path) -> str:
        """Give the virtual path of a real one; the inverse of `resolve` for paths without links."""
        try:
            relative = real.relative_to(self.root(thread_id))
        except ValueError as error:
            raise PathOutside("this path is none of the thread's") from error
        if ".." in relative.parts or not relative.parts or relative.parts[0] not in AREAS:
            raise PathOutside("this path is none of the thread's")
        return str(VIRTUAL_ROOT.joinpath(*relative.parts))


def _split(virtual: str) -> tuple[str, tuple[str, ...]]:
    path = PurePosixPath(virtual)
    if ".." in path.parts or "\0" in virtual:
        raise PathOutside(f"a path may not contain '..': {virtual!r}")
    if not path.is_relative_to(VIRTUAL_ROOT):
        raise PathOutside(f"a path must begin with {VIRTUAL_ROOT}/: {virtual!r}")
    parts = path.relative_to(VIRTUAL_ROOT).parts
    if not parts or parts[0] not in AREAS:
        raise PathOutside(
            f"a path must lie in one of {', '.join(str(VIRTUAL_ROOT / area) for area in AREAS)}: {virtual!r}"
        )
    return parts[0], parts[1:]


def _make_directories(directories: list[Path]) -> None:
    for directory in directories:
        directory.mkdir(parents=True, exist_ok=True)
