"""Leases this process holds on runs and deliveries: renewed together, given up by silence."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime, timedelta

from bridge.clock import Clock
from bridge.errors import LeaseExpired

logger = logging.getLogger(__name__)

Renew = Callable[[Collection[str], datetime], Awaitable[set[str]]]
_MARGIN = 0.8  # the holder falls silent a little before others may take over


class Lease:
    """The right to act for one run or delivery, until a moment of the machine's clock (which goes on while a process is stopped)."""

    def __init__(self, key: str, valid_until: float) -> None:
        self.key = key
        self._valid_until = valid_until
        self.on_lost: Callable[[], object] = lambda: None

    def check(self) -> None:
        """Raise LeaseExpired when the right is gone: call before every act others can see."""
        if time.monotonic() >= self._valid_until:
            raise LeaseExpired(f"the lease on {self.key} has run out")

    def prolong(self, valid_until: float) -> None:
        """The database has confirmed it anew."""
        self._valid_until = valid_until

    def lose(self) -> None:
        """Somebody else has it: fall silent at once."""
        self._valid_until = 0.0
        self.on_lost()


class LeaseKeeper:
    """Renews all leases of one kind every `heartbeat_seconds`, in one transaction; idle when there are none."""

    def __init__(self, renew: Renew, *, lease_seconds: float, heartbeat_seconds: float, clock: Clock) -> None:
        self._renew = renew
        self._lease_seconds = lease_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._clock = clock
        self._leases: dict[str, Lease] = {}
        self._beat: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to renew."""
        self._beat = asyncio.create_task(self._beat_forever(), name="lease-keeper")

    async def stop(self) -> None:
        """Renew no more."""
        if self._beat is not None:
            self._beat.cancel()
            await asyncio.gather(self._beat, return_exceptions=True)

    def expiry(self) -> datetime:
        """Until when a lease taken now is written down as valid."""
        return self._clock() + timedelta(seconds=self._lease_seconds)

    def hold(self, key: str, *, taken_at: float) -> Lease:
        """A lease the database gave; `taken_at` is `time.monotonic()` from before it was asked.

        A process that stood still may take anew what it held before: who still acts under the former lease loses it.
        """
        if (former := self._leases.get(key)) is not None:
            former.lose()
        lease = Lease(key, taken_at + self._lease_seconds * _MARGIN)
        self._leases[key] = lease
        return lease

    def drop(self, lease: Lease) -> None:
        """The work under this lease is done; one taken anew meanwhile is somebody else's."""
        if self._leases.get(lease.key) is lease:
            del self._leases[lease.key]

    async def _beat_forever(self) -> None:
        while True:
            await asyncio.sleep(self._heartbeat_seconds)
            if self._leases:
                try:
                    await self._renew_all()
                except (
                    Exception
                ):  # a database that is away for a beat: the leases run out by themselves if it stays away
                    logger.exception("leases could not be renewed")

    async def _renew_all(self) -> None:
        leases = dict(self._leases)
        asked_at = time.monotonic()
        kept = await self._renew(leases.keys(), self.expiry())
        for key, lease in leases.items():
            if key in kept:
                lease.prolong(asked_at + self._lease_seconds * _MARGIN)
            elif self._leases.get(key) is lease:
                logger.warning("lost the lease on %s", key)
                del self._leases[key]  # told once: a second time would disturb the cleaning up
                lease.lose()
