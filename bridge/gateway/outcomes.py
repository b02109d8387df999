"""What `wait` and `join` answer when a run has ended."""

from collections.abc import Mapping
from typing import Any

from bridge.errors import BridgeError
from bridge.gateway.responses import visible_values
from bridge.runs.records import RunRecord, RunStatus
from bridge.threads import ThreadService


async def outcome_of(run: RunRecord, threads: ThreadService) -> Mapping[str, Any]:
    """The values the run left, with the questions it stands at; `__error__` for one that failed (the SDK raises it)."""
    if run.status is RunStatus.ERROR:
        return {"__error__": run.error or {"error": "RunFailed", "message": "The run failed."}}
    try:
        return visible_values(await threads.final_values(run))
    except BridgeError as error:  # the thread was deleted meanwhile; the status is sent, so the body must say it
        return {"__error__": {"error": type(error).__name__, "message": str(error)}}
