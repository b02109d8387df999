"""Tasks that of several processes only one may be at: each under a lease, taken over when its holder is gone."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime

from bridge.clock import Clock
from bridge.errors import LeaseExpired
from bridge.leases import Lease, LeaseKeeper
from bridge.persistence import leases
from bridge.persistence.database import Database
from bridge.runs.config import RunsConfig

logger = logging.getLogger(__name__)

Work = Callable[[], Awaitable[None]]
_MOST_LEASE_SECONDS = 10.0  # a task is idle until the lease of a holder that died is over
_BEATS = 3  # in a lease


class SoleTasks:
    """Runs tasks by their name, here or nowhere. Their leases are those of runs, but never long."""

    def __init__(self, database: Database, config: RunsConfig, owner: str, clock: Clock) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._from_owners: Collection[str] = ()
        lease_seconds = min(_MOST_LEASE_SECONDS, config.lease_seconds)
        self._look_seconds = min(config.heartbeat_seconds, lease_seconds / _BEATS)
        self._leases = LeaseKeeper(
            self._renew, lease_seconds=lease_seconds, heartbeat_seconds=self._look_seconds, clock=clock
        )

    def start(self, from_owners: Collection[str] = ()) -> None:
        """Begin to keep leases; those of processes known to be dead are free."""
        self._from_owners = from_owners
        self._leases.start()

    async def stop(self) -> None:
        """Keep no leases any more; whoever runs a task has ended it before."""
        await self._leases.stop()

    async def run(self, task: str, work: Work) -> None:
        """See `ChannelHost.run_alone`."""
        while True:
            lease = await self._taken(task)
            try:
                if await self._work_while_held(lease, work):
                    return
            finally:
                self._leases.drop(lease)
                await asyncio.shield(self._give_back(task))

    async def _taken(self, task: str) -> Lease:
        is_said = False
        while True:
            taken_at = time.monotonic()
            try:
                if await self._take(task):
                    return self._leases.hold(task, taken_at=taken_at)
            except Exception as error:  # noqa: BLE001 - a database that is away for a while
                logger.warning("the lease on %s could not be taken (%s)", task, type(error).__name__)
            else:
                if not is_said:
                    logger.info("%s is another replica's; this one stands by", task)
                is_said = True
            await asyncio.sleep(self._look_seconds)

    async def _take(self, task: str) -> bool:
        now, until = self._clock(), self._leases.expiry()
        return await self._database.write(
            lambda connection: leases.take(
                connection, task, self._owner, now=now, expires_at=until, from_owners=self._from_owners
            )
        )

    async def _work_while_held(self, lease: Lease, work: Work) -> bool:
        """Whether the work came to its end by itself; False when the lease was lost first."""
        working = asyncio.ensure_future(work())
        lease.on_lost = working.cancel
        try:
            while not working.done():
                await asyncio.wait({working}, timeout=self._look_seconds)
                lease.check()
        except LeaseExpired as error:
            logger.warning("%s; whoever takes it goes on", error)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        if working.cancelled():
            return False
        working.result()
        return True

    async def _give_back(self, task: str) -> None:
        try:
            await self._database.write(lambda connection: leases.release(connection, task, self._owner))
        except Exception as error:  # noqa: BLE001 - then it runs out by itself
            logger.warning("the lease on %s could not be given back (%s)", task, type(error).__name__)

    async def _renew(self, tasks: Collection[str], until: datetime) -> set[str]:
        return await self._database.write(
            lambda connection: leases.renew(connection, self._owner, tasks, expires_at=until)
        )
