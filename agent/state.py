"""ThreadState: what a thread remembers between steps, and how updates merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState
from typing_extensions import TypedDict  # pydantic reads these for the schemas, and needs it before Python 3.12


class ThreadData(TypedDict):
    """The virtual directories of a thread, as the model knows them."""

    workspace_path: str
    uploads_path: str
    outputs_path: str


class UploadedFile(TypedDict):
    """A file the person sent with the current message."""

    filename: str
    size: int
    path: str


def ordered_union(known: Sequence[str] | None, new: Sequence[str] | None) -> list[str]:
    """Append what is new, keep the order of first appearance."""
    return list(dict.fromkeys([*(known or ()), *(new or ())]))


class ThreadState(AgentState[Any]):
    """The state of a thread; keys without a reducer keep the last value written."""

    thread_data: NotRequired[ThreadData]
    uploaded_files: NotRequired[list[UploadedFile]]
    title: NotRequired[str]
    artifacts: NotRequired[Annotated[list[str], ordered_union]]
