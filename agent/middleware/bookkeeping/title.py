"""TitleMiddleware: names the thread after its first question."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from agent.context import RunContext
from agent.messages import is_from_person, typed_text
from agent.middleware.config import TitleConfig
from agent.middleware.foldable import FoldableMiddleware
from agent.state import ThreadState

UNTITLED = "New conversation"
ELLIPSIS = "…"


class TitleMiddleware(FoldableMiddleware):
    """Gives the title with the first answer of the model, so that an interrupted first run has one too."""

    def __init__(self, config: TitleConfig) -> None:
        super().__init__()
        self._config = config

    async def aafter_model(self, state: ThreadState, runtime: Runtime[RunContext]) -> dict[str, Any] | None:
        """Write the title while the thread has none and its first question is known."""
        if state.get("title") or (question := _first_question(state["messages"])) is None:
            return None
        return {"title": local_title(typed_text(question), self._config)}


def local_title(text: str, config: TitleConfig) -> str:
    """Cut a question to a title, at words where it can be."""
    words = text.split()
    if not words:
        return UNTITLED
    title = " ".join(words[: config.max_words])
    if len(title) > config.max_chars or len(words) > config.max_words:
        title = title[: config.max_chars - len(ELLIPSIS)].rstrip() + ELLIPSIS
    return title


def _first_question(messages: list[AnyMessage]) -> HumanMessage | None:
    return next((m for m in messages if isinstance(m, HumanMessage) and is_from_person(m)), None)
