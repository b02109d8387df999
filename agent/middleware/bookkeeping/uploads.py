"""UploadsMiddleware: tells the model which files came with the current message."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.runtime import Runtime

from agent.context import RunContext
from agent.messages import current_question
from agent.middleware.bookkeeping.current_uploads import announce, files_on_disk
from agent.middleware.foldable import FoldableMiddleware
from agent.paths import ThreadPaths
from agent.state import ThreadState


class UploadsMiddleware(FoldableMiddleware):
    """Announces the files once, in the message itself: the model finds them again in every later turn."""

    def __init__(self, paths: ThreadPaths) -> None:
        super().__init__()
        self._paths = paths

    async def abefore_agent(self, state: ThreadState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Put the block before the question, and keep the list; an empty one clears the last turn's."""
        question = current_question(state["messages"])
        if question is None:
            return {"uploaded_files": []}
        uploads = self._paths.uploads(runtime.context.thread_id)
        files = await asyncio.to_thread(files_on_disk, question, uploads)
        announced = announce(question, files)
        return {"uploaded_files": files} | ({} if announced is question else {"messages": [announced]})
