"""What the demo model looks at: the newest question and what its tools have said since."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from agent.messages import FILES, is_from_person, is_hidden, typed_text

_UPLOADS_BLOCK = re.compile(r"<current_uploads>(.*?)</current_uploads>", re.DOTALL)
_UPLOAD_PATH = re.compile(r"/mnt/user-data/uploads/[^\s<>]+")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn so far."""

    question: str
    """What the person typed."""
    files: tuple[str, ...] = ()
    """Virtual paths of what came with the question."""
    answers_clarification: bool = False
    results: tuple[ToolMessage, ...] = ()
    """What the tools of this turn gave, oldest first."""
    tools: frozenset[str] = frozenset()
    """Names of the tools that may be called."""
    key: str = "start"
    """Differs from turn to turn."""

    @property
    def last_result(self) -> ToolMessage | None:
        """The newest result of this turn."""
        return self.results[-1] if self.results else None

    @property
    def last_text(self) -> str:
        """What the newest result says."""
        return str(self.last_result.text) if self.last_result else ""

    def stands_after(self, tool: str) -> bool:
        """Say whether that tool was the last one to give a result."""
        return self.last_result is not None and self.last_result.name == tool

    def mentions(self, *words: str) -> bool:
        """Say whether one of the words, or of the phrases, stands in the question."""
        return any(re.search(rf"\b{re.escape(word)}\b", self.question, re.IGNORECASE) for word in words)


def read_turn(messages: Sequence[BaseMessage], tools: Collection[str]) -> Turn:
    """Find the newest question a person asked and what happened since."""
    shown = [message for message in messages if is_from_person(message) or not is_hidden(message)]
    position = next((at for at in reversed(range(len(shown))) if isinstance(shown[at], HumanMessage)), None)
    if position is None:
        return Turn("", tools=frozenset(tools))
    question = shown[position]
    before = shown[position - 1] if position else None
    return Turn(
        question=_UPLOADS_BLOCK.sub("", typed_text(question)).strip(),
        files=tuple(dict.fromkeys(_files(question))),
        answers_clarification=isinstance(before, ToolMessage) and before.name == "ask_clarification",
        results=tuple(message for message in shown[position:] if isinstance(message, ToolMessage)),
        tools=frozenset(tools),
        key=question.id or str(position),
    )


def _files(question: BaseMessage) -> list[str]:
    """Take the paths from the message's own list; from the block in its text, where a name may hold no space, if not."""
    listed = question.additional_kwargs.get(FILES) or ()
    paths = [file["path"] for file in listed if isinstance(file, dict) and isinstance(file.get("path"), str)]
    return paths or [
        path for block in _UPLOADS_BLOCK.findall(str(question.text)) for path in _UPLOAD_PATH.findall(block)
    ]
