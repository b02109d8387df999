"""Where a turn stands before its answer begins, and what is shown in place of that."""

from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection

from bridge.delivery.composer import asking, waiting
from bridge.errors import LeaseExpired
from bridge.persistence import inbox, runs
from bridge.runs.records import RunRecord, RunStatus
from channels.contract import Reply, ReplyPhase


@dataclass(frozen=True, slots=True)
class Standing:
    """A run, and what stands in place of its answer until it begins."""

    run: RunRecord
    reply: Reply

    @classmethod
    def of(cls, connection: Connection, run_id: str) -> Self:
        """As it is now. Raises LeaseExpired when the run was deleted."""
        run = runs.find(connection, run_id)
        if run is None:
            raise LeaseExpired(f"run {run_id} was deleted")
        return cls(run, _said_meanwhile(connection, run))

    @property
    def is_pending(self) -> bool:
        """Whether the turn has not begun."""
        return self.run.status is RunStatus.PENDING

    @property
    def waits(self) -> bool:
        """Whether it waits for other turns or for a person's word, and says so."""
        return self.reply.phase is ReplyPhase.QUEUED


def _said_meanwhile(connection: Connection, run: RunRecord) -> Reply:
    begins_at_once = Reply(run_id=run.run_id)
    if run.status is not RunStatus.PENDING:
        return begins_at_once
    if run.held_until is not None and run.spec.trigger_event is not None:
        messages = [stored.event for stored in inbox.events_of_turn(connection, run.spec.trigger_event)]
        return asking(run.run_id, len(messages), run.created_at - messages[0].occurred_at)
    ahead = runs.count_ahead(connection, run.run_id)
    return waiting(run.run_id, ahead) if ahead else begins_at_once
