"""ThreadDataMiddleware: where the thread's files lie, and when and for which run the person wrote."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from agent.context import RunContext
from agent.messages import current_question
from agent.middleware.foldable import FoldableMiddleware
from agent.paths import VIRTUAL_ROOT
from agent.state import ThreadData, ThreadState

RUN_ID = "run_id"
TIMESTAMP = "timestamp"
DEFAULT_NAME = "user-input"


def local_now() -> datetime:
    """The time, with the machine's time zone."""
    return datetime.now(UTC).astimezone()


class ThreadDataMiddleware(FoldableMiddleware):
    """First of those that keep state, since the others read what it writes."""

    def __init__(self, now: Callable[[], datetime] = local_now) -> None:
        super().__init__()
        self._now = now

    async def abefore_agent(self, state: ThreadState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Write the virtual directories, and stamp the question with its run and its time."""
        update: dict[str, Any] = {"thread_data": virtual_directories()}
        question = current_question(state["messages"])
        if question is not None and question.additional_kwargs.get(RUN_ID) != runtime.context.run_id:
            update["messages"] = [self._stamped(question, runtime.context.run_id)]
        return update

    def _stamped(self, question: HumanMessage, run_id: str) -> HumanMessage:
        stamps = {RUN_ID: run_id, TIMESTAMP: self._now().isoformat(timespec="seconds")}
        return question.model_copy(
            update={
                "name": question.name or DEFAULT_NAME,
                "additional_kwargs": {**question.additional_kwargs, **stamps},
            }
        )


def virtual_directories() -> ThreadData:
    """The directories as the model knows them."""
    return ThreadData(
        workspace_path=str(VIRTUAL_ROOT / "workspace"),
        uploads_path=str(VIRTUAL_ROOT / "uploads"),
        outputs_path=str(VIRTUAL_ROOT / "outputs"),
    )
