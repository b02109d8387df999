"""FoldableMiddleware: what every middleware of ours is."""

from __future__ import annotations

from typing import Any, ClassVar

from langchain.agents.middleware import AgentMiddleware

from agent.context import RunContext
from agent.state import ThreadState


class FoldableMiddleware(AgentMiddleware[ThreadState, RunContext, Any]):
    """An ordinary LangChain middleware whose node hooks never interrupt, so that they may run inside a fold.

    A hook may run again after a crash until its step is stored: its effects outside the state must bear that.
    """

    foldable: ClassVar[bool] = True
    state_schema = ThreadState
