"""Walks a directory for a listing: sorted, of limited depth and length, never out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

IGNORED_NAMES: Final = frozenset({".git", ".venv", "node_modules", "__pycache__", ".DS_Store"})
"""What floods a listing and tells nobody anything."""

ENTRIES_LIMIT: Final = 10_000


def walk(directory: Path, *, base: Path, depth: int) -> list[Path]:
    """Give what is below `directory`, sorted, at most `ENTRIES_LIMIT` paths; links that leave `base` are left out."""
    return list(islice(_walk(directory, base, depth), ENTRIES_LIMIT))


def _walk(directory: Path, base: Path, depth: int) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        children = sorted((entry for entry in entries if entry.name not in IGNORED_NAMES), key=lambda entry: entry.name)
    for child in children:
        path = directory / child.name
        if child.is_symlink():
            if path.resolve().is_relative_to(base):
                yield path
            continue
        yield path
        if depth > 1 and child.is_dir(follow_symlinks=False):
            yield from _walk(path, base, depth - 1)
