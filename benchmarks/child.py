"""A child process under measurement: its CPU time and memory as the kernel counts them, and its end."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

REPOSITORY = Path(__file__).resolve().parents[1]
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_STOP_SECONDS = 20.0


class ChildFailed(Exception):
    """The program under measurement did not start or ended by itself; the end of its log is in the message."""


class Child:
    """A running program; all its threads are counted."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @classmethod
    async def start(cls, command: Sequence[str], environment: Mapping[str, str], log: Path) -> Self:
        """Start the command in the repository; what it writes goes to the end of `log`."""
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=REPOSITORY, env={**os.environ, **environment}, stdout=output, stderr=output
            )
        return cls(process, log)

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu_seconds(self) -> float:
        """User and system time so far, of threads that have ended too (proc(5), fields 14 and 15 of `stat`)."""
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND

    def resident_bytes(self) -> int:
        """Physical memory in use (`VmRSS`)."""
        line = next(line for line in self._proc("status").splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def _proc(self, name: str) -> str:
        self.check()
        return Path(f"/proc/{self.pid}/{name}").read_text()

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def check(self) -> None:
        """Raises `ChildFailed` if the program has ended."""
        if self._process.returncode is not None:
            raise ChildFailed(f"the program ended with code {self._process.returncode}:\n{self.log()[-4000:]}")

    async def stop(self) -> bool:
        """SIGTERM, and SIGKILL when it does not end by itself; whether it ended cleanly."""
        if self._process.returncode is None:
            self._process.terminate()
        try:
            code = await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            code = await self._process.wait()
        return code == 0
