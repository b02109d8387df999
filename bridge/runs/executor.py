"""Executes claimed runs: one attempt each, ended once."""

import logging

from bridge.errors import LeaseExpired
from bridge.runs.active import ActiveRun, RunResources
from bridge.runs.attempt import Attempt

logger = logging.getLogger(__name__)


class Executor:
    """Drives runs to their end."""

    def __init__(self, resources: RunResources) -> None:
        self._resources = resources

    async def execute(self, active: ActiveRun) -> bool:
        """Drive the run; whether it has ended. It has not when the process drains or has lost the lease: the next owner goes on.

        Raises LeaseLost when the thread's states are refused to it.
        """
        stream = self._resources.hub.open(active.run)
        try:
            attempt = Attempt(active, stream, self._resources)
            ending = await attempt.drive()
            if ending is None:
                return False
            await attempt.finish(ending)
        except LeaseExpired as error:
            logger.warning("run %s goes on elsewhere: %s", active.run.run_id, error)
            return False
        else:
            return True
        finally:
            self._resources.hub.release(stream)
