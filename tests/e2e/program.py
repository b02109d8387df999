"""The real program as a child process, configured against the simulators."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any, Self

import aiohttp
import yaml

_REPOSITORY = Path(__file__).resolve().parents[2]


class Program:
    """One `threadbridge serve` on a home of its own; it may be killed, stopped, continued and started again."""

    def __init__(self, home: Path, *, settings: dict[str, Any], environment: dict[str, str] | None = None) -> None:
        self._home = home
        self._settings = settings
        self._environment = environment or {}
        self._process: asyncio.subprocess.Process | None = None
        self.url = ""
        self.log_path = home.with_suffix(".log")

    async def start(self) -> Self:
        """Start and wait until it says that it is ready."""
        self._home.mkdir(parents=True, exist_ok=True)
        config = self._home.with_suffix(".yaml")
        config.write_text(yaml.safe_dump({"home": str(self._home), **self._settings}))
        log = self.log_path.open("ab")
        start_at = self.log_path.stat().st_size
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.e2e.launcher", "serve", "--config", str(config),
                cwd=_REPOSITORY, env={**os.environ, **self._environment}, stdout=log, stderr=log,
            )  # fmt: skip
        finally:
            log.close()
        self.url = await self._ready(start_at)
        return self

    @property
    def home(self) -> Path:
        return self._home

    @property
    def database_url(self) -> str | None:
        """None: SQLite in `home`."""
        url: str | None = self._settings.get("database", {}).get("url")
        return url

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def log(self) -> str:
        """Everything it wrote, over all its starts."""
        return self.log_path.read_text(errors="replace")

    async def died(self, timeout_seconds: float = 30.0) -> int:
        """Wait until it is gone; its exit code. Started again, it is not killed at that place once more."""
        assert self._process is not None
        code = await asyncio.wait_for(self._process.wait(), timeout_seconds)
        self._environment.pop("KILL_AT", None)
        return code

    def listen_on(self, port: int) -> None:
        """From the next start on: the port people have bookmarked."""
        self._settings = {**self._settings, "gateway": {**self._settings.get("gateway", {}), "port": port}}

    async def kill(self) -> None:
        """`kill -9`."""
        if self._process is None:
            return
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def stop(self) -> int:
        """SIGTERM, and its exit code."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.terminate()
        try:
            return await asyncio.wait_for(self._process.wait(), 60)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
            raise

    def freeze(self) -> None:
        """SIGSTOP."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    async def health(self) -> tuple[int, dict[str, Any]]:
        """Status and body of `GET /health`."""
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/health") as reply:
            return reply.status, await reply.json()

    async def _ready(self, start_at: int) -> str:
        assert self._process is not None
        for _ in range(1200):
            text = self.log_path.read_bytes()[start_at:].decode(errors="replace")
            for line in text.splitlines():
                if "ready: http" in line:
                    return line.rpartition("ready: ")[2].strip()
            if self._process.returncode is not None:
                raise AssertionError(f"the program ended with {self._process.returncode}:\n{text[-4000:]}")
            await asyncio.sleep(0.05)
        raise AssertionError(f"the program was not ready in a minute:\n{text[-4000:]}")
