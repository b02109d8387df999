"""Simulated time: one factor makes every rate and every delay of a simulator faster."""

import asyncio
import time


class ScaledClock:
    """Seconds of simulated time since the start; at `scale` 10 they pass ten times as fast as on the wall."""

    def __init__(self, scale: float = 1.0) -> None:
        if scale <= 0:
            raise ValueError("the time scale must be greater than zero")
        self._scale = scale
        self._started = time.monotonic()

    def now(self) -> float:
        return (time.monotonic() - self._started) * self._scale

    def real(self, simulated_seconds: float) -> float:
        """The same span in seconds of wall time."""
        return simulated_seconds / self._scale

    async def sleep(self, simulated_seconds: float) -> None:
        await asyncio.sleep(self.real(simulated_seconds))
