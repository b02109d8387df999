"""A run this process drives, and what every run needs of the house."""

import asyncio
from dataclasses import dataclass, field

from langgraph.runtime import RunControl

from agent import AgentRuntime
from bridge.clock import Clock
from bridge.files.artifacts import Artifacts
from bridge.leases import Lease
from bridge.persistence.database import Database
from bridge.runs.config import RunsConfig
from bridge.runs.records import CancelAction, RunRecord
from bridge.runs.stream import StreamHub
from bridge.runs.stubborn import StubbornGraphs
from bridge.runs.turn_input import TurnInput
from bridge.signals import Signals


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
    stubborn: StubbornGraphs


@dataclass(slots=True)
class ActiveRun:
    """A run this process drives, and the ways to end it from outside."""

    run: RunRecord
    lease: Lease
    control: RunControl = field(default_factory=RunControl)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    action: CancelAction = CancelAction.INTERRUPT
    has_ended: bool = False

    def take_wish(self) -> CancelAction:
        """What was wished last; whatever is wished from now on counts anew."""
        self.stop.clear()
        return self.action

    def ask_to_stop(self, action: CancelAction) -> None:
        """A person or a client wants it to end now, or anew; an end that was asked for is not taken back by the latter."""
        if action is CancelAction.RESTART and self.stop.is_set():
            return
        self.action = action
        self.stop.set()
