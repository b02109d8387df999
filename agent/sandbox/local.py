"""The sandbox on this machine's own disk: files only, no shell."""

from __future__ import annotations

import asyncio
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from agent.errors import ToolFailed
from agent.paths import AREAS, VIRTUAL_ROOT, ThreadPaths
from agent.sandbox.atomic import replacing
from agent.sandbox.config import SandboxConfig
from agent.sandbox.contract import FileEntry, FileText, Sandbox
from agent.sandbox.listing import walk
from agent.sandbox.path_locks import PathLocks
from agent.sandbox.text_lines import read_stretch

_PROBE_BYTES: Final = 8192


class LocalSandboxProvider:
    """Gives every thread the files below its own folder."""

    def __init__(self, paths: ThreadPaths, config: SandboxConfig) -> None:
        self._paths = paths
        self._config = config
        self._locks = PathLocks()

    async def acquire(self, thread_id: str) -> Sandbox:
        """Give the thread's files; raises `PathOutside` for what is no thread id."""
        self._paths.root(thread_id)
        return LocalSandbox(thread_id, self._paths, self._config, self._locks)

    async def aclose(self) -> None:
        """Nothing is held."""


class LocalSandbox:
    """One thread's files; see `Sandbox` for what is promised. The disk is only touched in worker threads."""

    def __init__(self, thread_id: str, paths: ThreadPaths, config: SandboxConfig, locks: PathLocks) -> None:
        self._thread_id = thread_id
        self._paths = paths
        self._config = config
        self._locks = locks

    @property
    def id(self) -> str:
        """`local:` and the thread."""
        return f"local:{self._thread_id}"

    async def ls(self, path: str, *, depth: int = 2) -> Sequence[FileEntry]:
        """List what is below a directory."""
        return await asyncio.to_thread(self._ls, path, depth)

    async def read(self, path: str, *, start_line: int = 1, end_line: int | None = None) -> FileText:
        """Give a stretch of a text file."""
        return await asyncio.to_thread(self._read, path, start_line, end_line)

    async def write(self, path: str, content: str, *, append: bool = False) -> None:
        """Put the content in the file, or at its end."""
        await asyncio.to_thread(self._write, path, content, append)

    async def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> int:
        """Replace the one occurrence of `old`, or all."""
        return await asyncio.to_thread(self._edit, path, old, new, replace_all)

    async def stat(self, path: str) -> FileEntry:
        """Describe one file or directory."""
        return await asyncio.to_thread(self._stat, path)

    def _ls(self, path: str, depth: int) -> list[FileEntry]:
        if path.rstrip("/") != str(VIRTUAL_ROOT):
            return self._ls_below(path, depth)
        listing = []
        for area in sorted(AREAS):
            virtual = str(VIRTUAL_ROOT / area)
            listing += [FileEntry(virtual, is_directory=True, size_bytes=0)]
            listing += self._ls_below(virtual, depth - 1) if depth > 1 else []
        return listing

    def _ls_below(self, path: str, depth: int) -> list[FileEntry]:
        real = self._paths.resolve(self._thread_id, path)
        base = self._area_of(real)
        if real == base and not real.exists():
            return []
        with _told_of(path):
            return [self._entry(child) for child in walk(real, base=base, depth=depth)]

    def _read(self, path: str, start_line: int, end_line: int | None) -> FileText:
        real = self._regular_file(path)
        with _told_of(path), real.open("rb") as probe:
            if b"\0" in probe.read(_PROBE_BYTES):
                raise ToolFailed(f"{path} is not a text file ({real.stat().st_size} bytes)")
        with _told_of(path), real.open(encoding="utf-8", errors="replace", newline="") as file:
            limit = self._config.read_max_chars
            return read_stretch(file, start_line=start_line, end_line=end_line, max_chars=limit)

    def _write(self, path: str, content: str, append: bool) -> None:
        added = _encoded(content)
        if len(added) > self._config.write_max_bytes:
            limit = self._config.write_max_bytes
            raise ToolFailed(f"{len(added)} bytes are more than one write takes ({limit}): write in parts, with append")
        real = self._paths.resolve(self._thread_id, path)
        with self._locks.hold(real), _told_of(path):
            current = self._regular_file(path) if real.exists() else None
            with self._replacing(real) as draft:
                if append and current:
                    self._copy(path, current, draft)
                draft.write(added)

    def _edit(self, path: str, old: str, new: str, replace_all: bool) -> int:
        if not old:
            raise ToolFailed("the text to replace is empty")
        real = self._regular_file(path)
        with self._locks.hold(real), _told_of(path):
            self._refuse_large(path, real)
            current = real.read_bytes()
            found = _count(path, current, _encoded(old), many_allowed=replace_all)
            with self._replacing(real) as draft:
                draft.write(current.replace(_encoded(old), _encoded(new)))
        return found

    def _stat(self, path: str) -> FileEntry:
        real = self._paths.resolve(self._thread_id, path)
        with _told_of(path):
            real.stat()
            return self._entry(real)

    def _replacing(self, real: Path) -> AbstractContextManager[BinaryIO]:
        return replacing(real, staging=self._paths.staging(self._thread_id))

    def _regular_file(self, path: str) -> Path:
        real = self._paths.resolve(self._thread_id, path)
        with _told_of(path):
            if not stat.S_ISREG(real.stat().st_mode):
                raise ToolFailed(f"{path} is not a file")
        return real

    def _copy(self, path: str, current: Path, draft: BinaryIO) -> None:
        self._refuse_large(path, current)
        with current.open("rb") as file:
            shutil.copyfileobj(file, draft)

    def _refuse_large(self, path: str, real: Path) -> None:
        if real.stat().st_size > self._config.file_max_bytes:
            raise ToolFailed(f"{path} is too large to be changed (over {self._config.file_max_bytes} bytes)")

    def _area_of(self, real: Path) -> Path:
        root = self._paths.root(self._thread_id)
        return root / real.relative_to(root).parts[0]

    def _entry(self, real: Path) -> FileEntry:
        status = real.lstat()
        return FileEntry(self._paths.virtual(self._thread_id, real), real.is_dir(), status.st_size)


@contextmanager
def _told_of(path: str) -> Iterator[None]:
    """Turn the system's errors into ours: the virtual path and the reason, never the real path."""
    try:
        yield
    except FileNotFoundError as error:
        raise ToolFailed(f"there is no {path}") from error
    except OSError as error:
        raise ToolFailed(f"{path}: {error.strerror or type(error).__name__}") from error


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolFailed("the text holds half of a character (a lone surrogate)") from error


def _count(path: str, content: bytes, old: bytes, *, many_allowed: bool) -> int:
    found = content.count(old)
    if not found:
        hint = "; its lines end in \\r\\n" if b"\n" in old and b"\r\n" in content else ""
        raise ToolFailed(f"the text to replace is not in {path}{hint}")
    if found > 1 and not many_allowed:
        raise ToolFailed(f"the text to replace occurs {found} times in {path}: give more of its surroundings")
    return found
