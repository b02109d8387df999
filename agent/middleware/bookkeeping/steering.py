"""SteeringMiddleware: what the person says while the run works reaches the next model call."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from agent.context import RunContext
from agent.middleware.bookkeeping.current_uploads import announce, files_on_disk
from agent.middleware.foldable import FoldableMiddleware
from agent.paths import ThreadPaths
from agent.state import ThreadState


class SteeringMiddleware(FoldableMiddleware):
    """Appends the messages behind the tool results; a message given twice replaces itself by its id."""

    def __init__(self, paths: ThreadPaths) -> None:
        super().__init__()
        self._paths = paths

    async def abefore_model(self, state: ThreadState, runtime: Runtime[RunContext]) -> dict[str, Any] | None:
        """Take what has arrived since the last call."""
        if runtime.context.steering is None:
            return None
        taken = await runtime.context.steering.take()
        uploads = self._paths.uploads(runtime.context.thread_id)
        return {"messages": [await self._announced(message, uploads) for message in taken]} if taken else None

    async def _announced(self, message: HumanMessage, uploads: Any) -> HumanMessage:
        return announce(message, await asyncio.to_thread(files_on_disk, message, uploads))
