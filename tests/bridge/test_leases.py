"""Leases: renewed together, given up by silence."""

import asyncio
import time
from collections.abc import AsyncIterator, Collection
from datetime import datetime, timedelta

import pytest

from bridge.errors import LeaseExpired
from bridge.leases import Lease, LeaseKeeper
from tests.bridge.conftest import StandingClock


class Registry:
    """What the database would say."""

    def __init__(self) -> None:
        self.gone: set[str] = set()
        self.asked: list[tuple[set[str], datetime]] = []
        self.failure: Exception | None = None
        self.heard = asyncio.Event()

    async def renew(self, keys: Collection[str], until: datetime) -> set[str]:
        self.asked.append((set(keys), until))
        self.heard.set()
        if self.failure is not None:
            raise self.failure
        return set(keys) - self.gone

    async def next_beat(self) -> None:
        self.heard.clear()
        async with asyncio.timeout(5):
            await self.heard.wait()
        await asyncio.sleep(0)


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
async def keeper(registry: Registry, clock: StandingClock) -> AsyncIterator[LeaseKeeper]:
    keeper = LeaseKeeper(registry.renew, lease_seconds=30, heartbeat_seconds=0.01, clock=clock)
    keeper.start()
    yield keeper
    await keeper.stop()


def test_a_lease_that_is_over_forbids_to_act() -> None:
    lease = Lease("run", time.monotonic() + 60)
    lease.check()
    lease.prolong(time.monotonic() - 0.001)
    with pytest.raises(LeaseExpired, match="run"):
        lease.check()


async def test_the_holder_falls_silent_before_others_may_take_over(
    keeper: LeaseKeeper, registry: Registry, clock: StandingClock
) -> None:
    registry.failure = OSError("the database is away")
    keeper.hold("fresh", taken_at=time.monotonic()).check()
    with pytest.raises(LeaseExpired):
        keeper.hold("old", taken_at=time.monotonic() - 25).check()
    assert keeper.expiry() == clock() + timedelta(seconds=30)


async def test_all_leases_are_renewed_together_until_dropped(
    keeper: LeaseKeeper, registry: Registry, clock: StandingClock
) -> None:
    first, second = (keeper.hold(key, taken_at=time.monotonic() - 29) for key in ("a", "b"))
    await registry.next_beat()
    await registry.next_beat()
    assert registry.asked[0] == ({"a", "b"}, clock() + timedelta(seconds=30))
    first.check()
    second.check()
    keeper.drop(first)
    await registry.next_beat()
    assert registry.asked[-1][0] == {"b"}


async def test_a_lease_somebody_else_has_is_lost_at_once(keeper: LeaseKeeper, registry: Registry) -> None:
    lost: list[str] = []
    kept, gone = keeper.hold("kept", taken_at=time.monotonic()), keeper.hold("gone", taken_at=time.monotonic())
    gone.on_lost = lambda: lost.append("gone")
    kept.on_lost = lambda: lost.append("kept")
    registry.gone.add("gone")
    await registry.next_beat()
    await registry.next_beat()
    assert set(lost) == {"gone"}
    kept.check()
    with pytest.raises(LeaseExpired):
        gone.check()


async def test_whoever_lost_a_lease_is_told_once(keeper: LeaseKeeper, registry: Registry) -> None:
    """A second call would cancel the cleaning up that the first one began."""
    lost: list[str] = []
    keeper.hold("gone", taken_at=time.monotonic()).on_lost = lambda: lost.append("gone")
    registry.gone.add("gone")
    for _ in range(3):
        await asyncio.sleep(0.02)
    assert lost == ["gone"]


async def test_a_database_away_for_a_beat_costs_no_lease(keeper: LeaseKeeper, registry: Registry) -> None:
    registry.failure = OSError("away")
    lease = keeper.hold("a", taken_at=time.monotonic())
    await registry.next_beat()
    lease.check()
    registry.failure = None
    await registry.next_beat()
    assert registry.asked[-1][0] == {"a"}


async def test_a_lease_taken_anew_silences_its_former_holder(keeper: LeaseKeeper, registry: Registry) -> None:
    lost: list[str] = []
    former = keeper.hold("a", taken_at=time.monotonic())
    former.on_lost = lambda: lost.append("former")
    anew = keeper.hold("a", taken_at=time.monotonic())
    keeper.drop(former)
    await registry.next_beat()
    assert lost == ["former"]
    assert registry.asked[-1][0] == {"a"}
    anew.check()
    with pytest.raises(LeaseExpired):
        former.check()
