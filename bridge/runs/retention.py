"""What a time puts an end to: streams of runs that ended long ago, turns for which the person's word has not come."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from bridge.clock import Clock
from bridge.persistence import runs, stream_parts
from bridge.persistence.database import Database
from bridge.runs.config import RunsConfig
from bridge.signals import Signals

logger = logging.getLogger(__name__)


class Retention:
    """Sweeps a few times within every retention time."""

    def __init__(self, database: Database, config: RunsConfig, signals: Signals, clock: Clock) -> None:
        self._database = database
        self._signals = signals
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
                for thread_id in await self._database.write(self._sweep):
                    self._signals.notify(f"thread:{thread_id}")
            except Exception:  # a sweep that fails is made up for by the next
                logger.exception("what is over could not be swept away")
            await asyncio.sleep(pause)

    def _sweep(self, connection: Connection) -> Sequence[str]:
        now = self._clock()
        stream_parts.forget(connection, ended_before=now - self._keep)
        return runs.drop_held(connection, now=now)
