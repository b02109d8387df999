"""Forgets the streams of runs that ended long enough ago."""

import asyncio
import logging
from datetime import timedelta
from functools import partial

from bridge.clock import Clock
from bridge.persistence import stream_parts
from bridge.persistence.database import Database
from bridge.runs.config import RunsConfig

logger = logging.getLogger(__name__)


class Retention:
    """Sweeps a few times within every retention time."""

    def __init__(self, database: Database, config: RunsConfig, clock: Clock) -> None:
        self._database = database
        self._keep = timedelta(seconds=config.stream_retention_seconds)
        self._clock = clock
        self._sweeping: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to sweep."""
        self._sweeping = asyncio.create_task(self._sweep_forever(), name="retention")

    async def stop(self) -> None:
        """Sweep no more."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)

    async def _sweep_forever(self) -> None:
        pause = min(60.0, max(1.0, self._keep.total_seconds() / 4))
        while True:
            try:
                forget = partial(stream_parts.forget, ended_before=self._clock() - self._keep)
                await self._database.write(forget)
            except Exception:  # a sweep that fails is made up for by the next
                logger.exception("old streams could not be forgotten")
            await asyncio.sleep(pause)
