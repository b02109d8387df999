"""The port through which runs are started, and the embedded adapter over our own tables."""

import asyncio
import logging
import time
from collections.abc import Collection
from datetime import timedelta
from typing import Protocol

from sqlalchemy import Connection

from agent.errors import LeaseLost
from bridge.clock import Clock
from bridge.leases import LeaseKeeper
from bridge.persistence import runs
from bridge.persistence.database import Database
from bridge.runs.active import ActiveRun
from bridge.runs.config import RunsConfig
from bridge.runs.executor import Executor
from bridge.runs.records import CancelAction, RunRecord
from bridge.signals import Signals

logger = logging.getLogger(__name__)

_BACK_OFF_SECONDS = 1.0  # after the first fault; doubled with each further one
_MOST_DOUBLINGS = 6
_PATIENCE_SECONDS = 0.25  # with those who wait for a first word, before another run begins beside those at work


class RunQueue(Protocol):
    """Starts runs that are stored: those of a thread one at a time and in order, those of different threads side by side."""

    async def start(self, from_owners: Collection[str] = ()) -> None:
        """Begin to start runs; first of all those that processes known to be dead left behind."""

    def wake(self) -> None:
        """A run was stored, or one has ended: look again."""

    def interrupt(self, run_id: str, action: CancelAction) -> bool:
        """Stop a run this process drives; False if it drives no such run."""

    async def stop(self) -> None:
        """Start nothing more, let active runs finish their step, leave the rest to the next owner."""


class EmbeddedRunQueue:
    """`RunQueue` on SQLite or PostgreSQL without another service: a claim is one transaction, a wake-up is a signal."""

    def __init__(
        self, database: Database, executor: Executor, signals: Signals, config: RunsConfig, owner: str, clock: Clock
    ) -> None:
        self._database = database
        self._executor = executor
        self._signals = signals
        self._config = config
        self._owner = owner
        self._clock = clock
        self._from_owners: Collection[str] = ()
        self._active: dict[str, ActiveRun] = {}
        self._tasks: dict[asyncio.Task[None], ActiveRun] = {}
        self._claiming: asyncio.Task[None] | None = None
        self._leases = LeaseKeeper(
            self._renew, lease_seconds=config.lease_seconds, heartbeat_seconds=config.heartbeat_seconds, clock=clock
        )

    async def start(self, from_owners: Collection[str] = ()) -> None:
        """See `RunQueue.start`."""
        self._from_owners = from_owners
        self._leases.start()
        self._claiming = asyncio.create_task(self._claim_forever(), name="run-queue")

    def wake(self) -> None:
        """See `RunQueue.wake`."""
        self._signals.notify("runs")

    def interrupt(self, run_id: str, action: CancelAction) -> bool:
        """See `RunQueue.interrupt`."""
        active = self._active.get(run_id)
        if active is not None:
            active.ask_to_stop(action)
        return active is not None

    async def stop(self) -> None:
        """See `RunQueue.stop`."""
        if self._claiming is not None:
            self._claiming.cancel()
            await asyncio.gather(self._claiming, return_exceptions=True)
        for active in self._active.values():
            active.control.request_drain("shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._config.drain_seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._leases.stop()

    async def _claim_forever(self) -> None:
        with self._signals.watch("runs") as watch:
            while True:
                try:
                    await self._claim_all()
                    pause = self._config.heartbeat_seconds
                except Exception:  # the database may be away for a while; the runs are safe in it
                    logger.exception("runs could not be claimed")
                    pause = 1.0
                await watch.wait(pause)

    async def _claim_all(self) -> None:
        while len(self._tasks) < self._config.worker_concurrency:
            if self._tasks:
                await self._signals.first_words.all_said(_PATIENCE_SECONDS)
            taken_at = time.monotonic()
            run, is_more = await self._database.write(self._claim)
            if run is not None:
                self._begin(run, taken_at)
            if not is_more:
                self._from_owners = ()
                return

    def _claim(self, connection: Connection) -> tuple[RunRecord | None, bool]:
        """The next run, and whether there is another."""
        now, until, dead = self._clock(), self._leases.expiry(), self._from_owners
        run = runs.claim_next(connection, owner=self._owner, now=now, lease_expires_at=until, from_owners=dead)
        return run, run is not None and runs.any_claimable(connection, now=now, from_owners=dead)

    def _begin(self, run: RunRecord, taken_at: float) -> None:
        active = ActiveRun(run, self._leases.hold(run.run_id, taken_at=taken_at))
        if run.cancel_action is not None:
            active.ask_to_stop(run.cancel_action)
        self._active[run.run_id] = active
        task = asyncio.create_task(self._drive(active), name=f"run-{run.run_id}")
        active.lease.on_lost = task.cancel
        self._tasks[task] = active
        task.add_done_callback(self._done)

    async def _drive(self, active: ActiveRun) -> None:
        wait = 0.0
        try:
            active.has_ended = await self._executor.execute(active)
        except LeaseLost as error:
            wait = _back_off(active.run)
            await self._explain(active.run, error, wait)
        except Exception:  # the edge of a run's task: it is left to be tried again, up to max_attempts
            wait = _back_off(active.run)
            logger.exception("run %s stopped short; it is tried again in %.0f s", active.run.run_id, wait)
        finally:
            self._leases.drop(active.lease)
            if not active.has_ended:
                await asyncio.shield(self._let_go(active.run, wait))

    async def _let_go(self, run: RunRecord, wait: float) -> None:
        """Nobody takes it up again for `wait` seconds. Without effect on a run that is somebody else's by now."""
        until = self._clock() + timedelta(seconds=wait)
        await self._database.write(lambda connection: runs.let_go(connection, run, now=until))
        if wait:
            asyncio.get_running_loop().call_later(wait, self.wake)

    async def _explain(self, run: RunRecord, error: LeaseLost, wait: float) -> None:
        """Why the states were refused: a process that stalled has lost the run, or else the states are ahead of the tables."""
        if run.run_id not in await self._database.read(lambda connection: runs.still_held(connection, [run])):
            logger.warning("run %s goes on elsewhere: %s", run.run_id, error)
            return
        logger.error(
            "run %s is refused the states of its thread though no other process has it: %s. Were the tables restored from a backup "
            "without the checkpoints? Attempt %d of %d; the next in %.0f s",
            run.run_id,
            error,
            run.attempt,
            self._config.max_attempts,
            wait,
        )

    def _done(self, task: asyncio.Task[None]) -> None:
        is_full = len(self._tasks) >= self._config.worker_concurrency
        active = self._tasks.pop(task)
        run_id = active.run.run_id
        if self._active.get(run_id) is active:  # else this process has taken the run anew
            del self._active[run_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("run %s could not be let go: %s", run_id, error)
        if is_full or not active.has_ended:
            self.wake()

    async def _renew(self, run_ids: Collection[str], until: object) -> set[str]:
        kept, asked = await self._database.write(
            lambda connection: (
                runs.renew(connection, self._owner, run_ids, lease_expires_at=until),  # type: ignore[arg-type]
                runs.cancelled(connection, run_ids),
            )
        )
        for run_id, action in asked.items():  # asked by another process
            self.interrupt(run_id, action)
        return kept


def _back_off(run: RunRecord) -> float:
    return float(_BACK_OFF_SECONDS * 2 ** min(run.attempt - 1, _MOST_DOUBLINGS))
