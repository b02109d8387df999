"""Takes up every answer that is owed, and lets go of none before it stands."""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from bridge.delivery.delivery import Delivery, DeliveryResources
from bridge.errors import LeaseExpired
from bridge.leases import LeaseKeeper
from bridge.persistence import deliveries
from bridge.persistence.deliveries import DeliveryRecord
from bridge.runs.config import RunsConfig
from channels.contract import Channel, ChannelSection

logger = logging.getLogger(__name__)

_MOST_AT_ONCE = 1000
_BATCH = 50
_LOOK_SECONDS = 5.0
_FAULT_SECONDS = 30.0


class Deliverer:
    """One task for each answer on its way."""

    def __init__(
        self,
        channels: Mapping[str, Channel],
        sections: Mapping[str, ChannelSection],
        resources: DeliveryResources,
        config: RunsConfig,
    ) -> None:
        self._channels = channels
        self._sections = sections
        self._house = resources
        self._from_owners: Collection[str] = ()
        self._tasks: dict[asyncio.Task[None], str] = {}
        self._claiming: asyncio.Task[None] | None = None
        self._leases = LeaseKeeper(
            self._renew,
            lease_seconds=config.lease_seconds,
            heartbeat_seconds=config.heartbeat_seconds,
            clock=resources.clock,
        )

    def start(self, from_owners: Collection[str] = ()) -> None:
        """Begin with what is owed already, and with what processes known to be dead had begun."""
        self._from_owners = from_owners
        self._leases.start()
        self._claiming = asyncio.create_task(self._claim_forever(), name="deliverer")

    async def stop(self, *, patience_seconds: float) -> None:
        """Take up nothing more; let what is about to be finished finish; give the rest back."""
        if self._claiming is not None:
            self._claiming.cancel()
            await asyncio.gather(self._claiming, return_exceptions=True)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience_seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._leases.stop()

    async def _claim_forever(self) -> None:
        with self._house.signals.watch("deliveries") as watch:
            while True:
                try:
                    await self._claim_all()
                except Exception:  # the database may be away for a while; what is owed is safe in it
                    logger.exception("deliveries could not be claimed")
                await watch.wait(_LOOK_SECONDS)

    async def _claim_all(self) -> None:
        while (room := _MOST_AT_ONCE - len(self._tasks)) > 0:
            taken_at = time.monotonic()
            with self._house.signals.first_words.awaited():
                claimed = await self._claim(min(room, _BATCH))
                for record in claimed:
                    self._begin(record, taken_at)
            if not claimed:
                self._from_owners = ()
                return
            if len(claimed) < _BATCH and not self._from_owners:
                return

    async def _claim(self, limit: int) -> Collection[DeliveryRecord]:
        house, until, dead = self._house, self._leases.expiry(), self._from_owners
        return await house.database.write(
            lambda connection: deliveries.claim_due(
                connection,
                owner=house.owner,
                now=house.clock(),
                lease_expires_at=until,
                limit=limit,
                from_owners=dead,
            )
        )

    def _begin(self, record: DeliveryRecord, taken_at: float) -> None:
        task = asyncio.create_task(self._deliver(record, taken_at), name=f"deliver-{record.id}")
        self._tasks[task] = record.id
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)

    async def _deliver(self, record: DeliveryRecord, taken_at: float) -> None:
        lease = self._leases.hold(record.id, taken_at=taken_at)
        task = asyncio.current_task()
        lease.on_lost = task.cancel if task else lease.on_lost
        try:
            channel = self._channels.get(record.conversation.channel)
            if channel is None:
                await self._put_off(record, "the channel is not enabled")
                return
            section = self._sections[record.conversation.channel]
            await Delivery(record, lease, channel, section, self._house).run()
        except LeaseExpired as error:
            logger.warning("delivery %s goes on elsewhere: %s", record.id, error)
        except asyncio.CancelledError:
            await asyncio.shield(self._give_back(record))
            raise
        except Exception as error:  # the edge of a delivery's task: it is tried again later, from what was recorded
            logger.exception("delivery %s stopped short", record.id)
            await self._put_off(record, repr(error)[:500])
        finally:
            self._leases.drop(lease)

    async def _give_back(self, record: DeliveryRecord) -> None:
        """So that another process, or this one after its restart, takes it up at once."""
        house, now = self._house, self._house.clock()
        await house.database.write(
            lambda connection: deliveries.put_off(connection, record, house.owner, until=now, error=None, now=now)
        )

    async def _put_off(self, record: DeliveryRecord, error: str) -> None:
        house, now = self._house, self._house.clock()
        until = now + timedelta(seconds=_FAULT_SECONDS)
        await house.database.write(
            lambda connection: deliveries.put_off(connection, record, house.owner, until=until, error=error, now=now)
        )

    async def _renew(self, ids: Collection[str], until: datetime) -> set[str]:
        owner = self._house.owner
        return await self._house.database.write(
            lambda connection: deliveries.renew(connection, owner, ids, lease_expires_at=until)
        )
