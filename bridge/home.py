"""The home folder: made at the start, or said to be unusable in words that help."""

import tempfile
from pathlib import Path

from bridge.errors import HomeUnusable


def prepare_home(folder: Path) -> None:
    """Make the home folder, or one in it, and prove that it can be written. Blocking. Raises HomeUnusable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"threadbridge")
    except OSError as error:
        reason = "it is a file" if folder.is_file() else error.strerror
        raise HomeUnusable(
            f"home: the folder {folder} cannot be used: {reason}. Make it writable, or choose another with `home` or $THREADBRIDGE_HOME"
        ) from error
