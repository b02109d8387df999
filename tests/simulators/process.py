"""Runs a simulator as a child process and, inside that process, serves it until its parent is gone."""

import asyncio
import json
import signal
import sys
from pathlib import Path

from aiohttp import web

_START_SECONDS = 60
_REPOSITORY = Path(__file__).resolve().parents[2]


class SimulatorFailed(Exception):
    """The simulator's process did not come up; what it wrote stands on the standard error."""


class SimulatorProcess:
    """A running simulator; its port is known once `start` returned."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self._process = process
        self.port = port

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    async def start(cls, module: str, *arguments: str) -> "SimulatorProcess":
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, "--exit-with-parent", *arguments,
            cwd=_REPOSITORY, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
        except TimeoutError:
            process.kill()
            line = b""
        if not line:
            raise SimulatorFailed(f"{module} ended with code {await process.wait()} before it named its port")
        return cls(process, json.loads(line)["port"])

    async def stop(self) -> None:
        """Ask the process to end, and end it after five seconds."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), 5)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()


async def serve(application: web.Application, port: int, *, exit_with_parent: bool) -> None:
    """Serve on loopback, print `{"port": …}` on one line, and return at SIGTERM, SIGINT or the parent's end."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
    await site.start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    if exit_with_parent:
        loop.add_reader(sys.stdin.fileno(), ended.set)
    await ended.wait()
    await runner.cleanup()
