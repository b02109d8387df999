"""One process a home, where the database is a file."""

import fcntl
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from bridge.errors import AlreadyRunning

_REMEMBERED = 50


class HomeLock:
    """Held as long as the process lives; the operating system lets go of it when the process dies, however it dies."""

    def __init__(self, file: TextIO, former: Sequence[str]) -> None:
        self._file = file
        self.former = former
        """The owners of earlier processes: dead, since the lock could be taken."""

    @classmethod
    def take(cls, home: Path, owner: str) -> "HomeLock":
        """Blocking; the folder must be there. Raises AlreadyRunning."""
        file = (home / "lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise AlreadyRunning(
                f"another process already serves {home}; stop it first, or give this one a home of its own"
            ) from error
        file.seek(0)
        former = file.read().split()[-_REMEMBERED:]
        file.seek(0)
        file.truncate()
        file.write("\n".join([*former, owner]))
        file.flush()
        return cls(file, former)

    def release(self) -> None:
        """Let another process serve the home."""
        self._file.close()
