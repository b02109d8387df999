"""A state that is read while the next one replaces it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from agent.savers.sqlite import SqliteCheckpoints

QUESTION = ("task", "__interrupt__", "Which colour?")


def at(checkpoint_id: str | None = None) -> Any:
    place = {"thread_id": "t", "checkpoint_ns": ""} | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})
    return {"configurable": place, "metadata": {"run_id": "run"}}


async def put(store: SqliteCheckpoints, config: Any, step: int) -> str:
    state: Any = {**empty_checkpoint(), "id": str(uuid6())}
    metadata: Any = {"source": "loop", "step": step, "run_id": "run"}
    stored = await store.saver().aput(config, state, metadata, {})
    return str(stored["configurable"]["checkpoint_id"])


async def test_it_comes_with_its_question_or_not_at_all(tmp_path: Path) -> None:
    async with SqliteCheckpoints.open(tmp_path / "states.db", keep_turns=1) as store:
        asked = await put(store, at(), 1)
        await store.saver().aput_writes(at(asked), [QUESTION[1:]], "task")
        loop = asyncio.get_running_loop()

        def replace_it_between(db: sqlite3.Connection) -> None:
            def seen(statement: str) -> None:
                if "FROM writes" in statement:
                    db.set_trace_callback(None)
                    asyncio.run_coroutine_threadsafe(put(store, at(asked), 2), loop).result(10)

            db.set_trace_callback(seen)

        await store.reader.run(replace_it_between)
        before, after = await store.saver().aget_tuple(at()), await store.saver().aget_tuple(at())
        assert before is not None
        assert after is not None
        assert (before.metadata["step"], before.pending_writes) == (1, [QUESTION])
        assert (after.metadata["step"], after.pending_writes) == (2, [])
