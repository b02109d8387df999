"""How a run ends, and what the person is told of it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from agent.errors import AgentError
from bridge.runs.records import RunRecord, RunStatus

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunEnding:
    """How a run ended. `user_message` is what the person is told of a failure."""

    status: RunStatus
    error: Mapping[str, str] | None = None
    user_message: str | None = None
    stopped: bool = False


STOPPED = RunEnding(RunStatus.INTERRUPTED, stopped=True)
ROLLED_BACK = RunEnding(
    RunStatus.INTERRUPTED,
    error={"error": "UserRollback", "message": "The run was stopped and the thread put back to before it."},
    stopped=True,
)

RESTARTED = RunEnding(RunStatus.INTERRUPTED, stopped=True)
"""No end: the turn begins anew."""


def failed(run: RunRecord, error: BaseException) -> RunEnding:
    """An error of the agent says what the person may know; of any other only a reference is given."""
    if isinstance(error, AgentError):
        logger.warning("run %s failed: %s", run.run_id, error)
        message = error.user_message or "The agent could not finish this."
    else:
        logger.error("run %s failed", run.run_id, exc_info=error)
        message = f"Something went wrong inside (reference {run.run_id[:8]}). Please try again."
    return RunEnding(RunStatus.ERROR, {"error": type(error).__name__, "message": message}, message)


def unreadable(run: RunRecord) -> RunEnding:
    """Another version of the program stored the run, or its row is damaged."""
    message = "This message can no longer be read. Please send it again."
    logger.error("run %s ends with an error, for its row cannot be read: %s", run.run_id, run.unreadable)
    return RunEnding(RunStatus.ERROR, {"error": "UnreadableRun", "message": message}, message)


def given_up(run: RunRecord) -> RunEnding:
    """The run has taken its process down, or failed to get through, too often."""
    message = "This could not be finished: the process stopped every time it was tried. Please try again, or ask in another way."
    logger.error("run %s is given up after %d attempts", run.run_id, run.attempt - 1)
    return RunEnding(RunStatus.ERROR, {"error": "TooManyAttempts", "message": message}, message)
