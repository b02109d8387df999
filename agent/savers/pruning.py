"""Which checkpoints need not be written at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint


def replaced_at_once(metadata: Mapping[str, Any]) -> bool:
    """Say whether the next checkpoint of the run follows without any work between.

    LangGraph stores a turn's input, applies it, and stores the state again; only the second one is ever gone on from
    when older ones are pruned. A crash between the two is a crash before the first: the input is given again.
    """
    return metadata.get("source") == "input"


def stored_place(config: RunnableConfig, checkpoint: Checkpoint) -> RunnableConfig:
    """Give the place of a checkpoint, as `aput` returns it."""
    place = config["configurable"]
    kept = {key: place[key] for key in ("thread_id", "checkpoint_ns")}
    return {"configurable": {**kept, "checkpoint_id": checkpoint["id"]}}
