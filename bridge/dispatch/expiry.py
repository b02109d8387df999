"""Says of questions whose time is over that they have expired."""

import asyncio
import logging

from sqlalchemy import Connection

from bridge.clock import Clock
from bridge.dispatch import answers
from bridge.dispatch.decision import Effects
from bridge.persistence import clarifications
from bridge.persistence.database import Database
from bridge.runs.config import RunsConfig
from bridge.signals import Signals
from channels.contract import ClarificationState

logger = logging.getLogger(__name__)

_BATCH = 100
_LONGEST_PAUSE_SECONDS = 30.0
_SHORTEST_PAUSE_SECONDS = 0.5


class QuestionExpiry:
    """Looks a few times within every expiry time. Of several processes that look, one says it."""

    def __init__(self, database: Database, signals: Signals, config: RunsConfig, clock: Clock) -> None:
        self._database = database
        self._signals = signals
        self._clock = clock
        pause = max(_SHORTEST_PAUSE_SECONDS, config.question_expiry_seconds / 4)
        self._pause_seconds = min(_LONGEST_PAUSE_SECONDS, pause)
        self._sweeping: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._sweeping = asyncio.create_task(self._sweep_forever(), name="question-expiry")

    async def stop(self) -> None:
        """Look no more."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)

    async def sweep(self) -> int:
        """Settle what is overdue now, a bounded number; how many questions that were."""
        now = self._clock()
        tokens = await self._database.read(lambda connection: clarifications.due(connection, now=now, limit=_BATCH))
        for token in tokens:
            await self._expire(token)
        return len(tokens)

    async def _expire(self, token: str) -> None:
        """One at a time, so that no lock is held for long."""
        effects, now = Effects(), self._clock()

        def expire(connection: Connection) -> None:
            if answers.found(connection, token, now, effects) is None:  # this version cannot read it
                clarifications.settle(connection, token, ClarificationState.EXPIRED)

        await self._database.write(expire)
        if effects.deliveries_stored:
            self._signals.notify("deliveries")

    async def _sweep_forever(self) -> None:
        while True:
            try:
                while await self.sweep() == _BATCH:
                    pass
            except Exception:  # the database may be away for a while; what is overdue is so at the next look
                logger.exception("overdue questions could not be settled")
            await asyncio.sleep(self._pause_seconds)
