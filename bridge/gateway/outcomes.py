"""What `wait` and `join` answer when a run has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError
from bridge.gateway.responses import interrupts_json, visible_values
from bridge.runs.records import RunRecord, RunStatus

if TYPE_CHECKING:
    from bridge.threads import ThreadService


async def outcome_of(run: RunRecord, threads: ThreadService) -> Mapping[str, Any]:
    """The values the run left, with the questions it stands at; `__error__` for one that failed (the SDK raises it)."""
    if run.status is RunStatus.ERROR:
        return {"__error__": run.error or {"error": "RunFailed", "message": "The run failed."}}
    try:
        return visible_values(await threads.final_values(run)) | await _interrupts(run, threads)
    except BridgeError as error:  # the thread was deleted meanwhile; the status is sent, so the body must say it
        return {"__error__": {"error": type(error).__name__, "message": str(error)}}


async def _interrupts(run: RunRecord, threads: ThreadService) -> dict[str, Any]:
    stands_at_interrupt = run.status is RunStatus.INTERRUPTED and run.cancel_action is None and run.checkpoint_after
    if not stands_at_interrupt:
        return {}
    state = await threads.state(run.thread_id, run.checkpoint_after)
    return {"__interrupt__": interrupts_json(state.interrupts)} if state.interrupts else {}
