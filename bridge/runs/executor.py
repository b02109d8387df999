"""Executes claimed runs: one attempt each, ended once."""

import asyncio
import logging
from dataclasses import dataclass, field

from langgraph.runtime import RunControl

from agent import AgentRuntime
from agent.errors import LeaseLost
from bridge.clock import Clock
from bridge.errors import LeaseExpired
from bridge.files.artifacts import Artifacts
from bridge.leases import Lease
from bridge.persistence.database import Database
from bridge.runs.config import RunsConfig
from bridge.runs.records import CancelAction, RunRecord
from bridge.runs.stream import StreamHub
from bridge.runs.turn_input import TurnInput
from bridge.signals import Signals

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunResources:
    """What every run needs of the house."""

    agent: AgentRuntime
    database: Database
    hub: StreamHub
    signals: Signals
    turn_input: TurnInput
    artifacts: Artifacts
    config: RunsConfig
    clock: Clock


@dataclass(slots=True)
class ActiveRun:
    """A run this process drives, and the ways to end it from outside."""

    run: RunRecord
    lease: Lease
    control: RunControl = field(default_factory=RunControl)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    action: CancelAction = CancelAction.INTERRUPT

    def ask_to_stop(self, action: CancelAction) -> None:
        """A person or a client wants it to end now."""
        self.action = action
        self.stop.set()


class Executor:
    """Drives runs to their end."""

    def __init__(self, resources: RunResources) -> None:
        self._resources = resources

    async def execute(self, active: ActiveRun) -> bool:
        """Drive the run; whether it has ended. It has not when the process drains or has lost the lease: the next owner goes on."""
        from bridge.runs.attempt import Attempt

        stream = self._resources.hub.open(active.run)
        try:
            attempt = Attempt(active, stream, self._resources)
            outcome = await attempt.outcome()
            if outcome is None:
                return False
            await attempt.finish(outcome)
        except (LeaseExpired, LeaseLost) as error:
            logger.warning("run %s goes on elsewhere: %s", active.run.run_id, error)
            return False
        else:
            return True
        finally:
            self._resources.hub.release(stream)
