"""The tests' hand on the simulated model: starts it, scripts its answers, reads what it was asked."""

import asyncio
from types import TracebackType
from typing import Any, Self

import aiohttp

from ..process import SimulatorProcess
from .script import Step, dump

API_KEY = "sk-test"


class ModelSimulator:
    """An OpenAI-compatible server in a process of its own; use it as an async context manager."""

    api_key = API_KEY

    def __init__(self, *, time_scale: float = 1.0) -> None:
        self._arguments = ["--api-key", API_KEY, "--time-scale", str(time_scale)]
        self._process: SimulatorProcess | None = None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._process = await SimulatorProcess.start("tests.simulators.model", *self._arguments)
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        assert self._process is not None
        await self._session.close()
        await self._process.stop()

    @property
    def _origin(self) -> str:
        assert self._process is not None
        return f"http://127.0.0.1:{self._process.port}"

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"{self._origin}/v1"

    async def _request(self, verb: str, path: str, body: dict[str, Any] | None = None, **query: Any) -> Any:
        assert self._session is not None
        url = f"{self._origin}/control/{path}"
        async with self._session.request(verb, url, json=body, params=query) as reply:
            reply.raise_for_status()
            return await reply.json(content_type=None)

    async def script(self, *steps: Step, match: str = "", times: int = 1) -> None:
        """Answer the next `times` calls whose last user message contains `match` with these steps."""
        await self._request(
            "POST", "scripts", {"steps": [dump(step) for step in steps], "match": match, "times": times}
        )

    async def clear_scripts(self) -> None:
        """Forget the scripts that are left, and let every answer that waits at a gate go on."""
        await self._request("DELETE", "scripts")

    async def gate_reached(self, name: str, timeout_seconds: float = 10.0) -> None:
        """Return when an answer waits at the gate."""
        async with asyncio.timeout(timeout_seconds):
            await self._request("GET", f"gates/{name}")

    async def release(self, name: str) -> None:
        await self._request("DELETE", f"gates/{name}")

    async def requests(self, *, after: int = 0, bodies: bool = True) -> list[dict[str, Any]]:
        """The calls of late with prompt, times, outcome and (the newest 300) the body as it came."""
        found: list[dict[str, Any]] = await self._request("GET", "requests", after=after, bodies=int(bodies))
        return found

    async def asked(self) -> dict[str, int]:
        """How often each last user message was sent."""
        counts: dict[str, int] = await self._request("GET", "asked")
        return counts

    async def violations(self) -> list[dict[str, Any]]:
        """Requests that a strict provider refuses, with the rule and the body."""
        found: list[dict[str, Any]] = await self._request("GET", "violations")
        return found
