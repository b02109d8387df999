"""What a sandbox offers: a thread's files under their virtual paths, wherever they really are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or directory in a listing."""

    path: str
    """Virtual and absolute."""
    is_directory: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FileText:
    """A stretch of a text file's lines."""

    text: str
    next_line: int | None
    """The line (from 1) at which to read on, None when the stretch was read to its end."""
    cut: bool = False
    """Whether a single line was longer than the limit and only its beginning is here."""


class Sandbox(Protocol):
    """One thread's files. Paths are virtual; contents are byte-exact, never rewritten.

    Every method raises `PathOutside` for a path that leaves the thread's directories and `ToolFailed` for what cannot
    be done; messages name virtual paths only. Writes to one path happen one after the other, and a file is at any
    moment, even after a crash, wholly the old or wholly the new one.
    """

    @property
    def id(self) -> str:
        """Names the sandbox within its provider."""
        ...

    async def ls(self, path: str, *, depth: int = 2) -> Sequence[FileEntry]:
        """List what is below a directory, sorted by path; empty if the directory is one of the roots and not there."""
        ...

    async def read(self, path: str, *, start_line: int = 1, end_line: int | None = None) -> FileText:
        """Give the lines from `start_line` to `end_line` (from 1, both included), as far as the limit allows."""
        ...

    async def write(self, path: str, content: str, *, append: bool = False) -> None:
        """Put the content in the file, or at its end; parent directories are made."""
        ...

    async def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> int:
        """Replace the one occurrence of `old`, or all; gives how many, raises `ToolFailed` for none or too many."""
        ...

    async def stat(self, path: str) -> FileEntry:
        """Describe one file or directory."""
        ...


class SandboxProvider(Protocol):
    """Gives every thread its sandbox; one provider lives as long as the process."""

    async def acquire(self, thread_id: str) -> Sandbox:
        """Give the thread's sandbox, ready to use; the same one while it is alive."""
        ...

    async def aclose(self) -> None:
        """Let go of everything the provider holds; it is not used afterwards."""
        ...
