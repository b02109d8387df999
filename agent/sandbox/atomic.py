"""Replaces a file so that a crash leaves the old or the new one whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(target: Path, *, staging: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the target's place when the block ends well, and vanishes when it does not.

    `staging` is a directory on the target's file system that nobody lists: what a killed process leaves lies there.
    """
    staging.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = staging / secrets.token_hex(8)
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
