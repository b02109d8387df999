"""The home folder: made at the start, or said to be unusable in words that help."""

import tempfile
from pathlib import Path

from bridge.errors import HomeUnusable


def prepare_home(home: Path) -> None:
    """Make the folder and prove that it can be written. Blocking. Raises HomeUnusable."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home) as file:
            file.write(b"threadbridge")
    except OSError as error:
        reason = "it is a file" if home.is_file() else error.strerror
        raise HomeUnusable(
            f"home: the folder {home} cannot be used: {reason}. Make it writable, or choose another with `home` or $THREADBRIDGE_HOME"
        ) from error
