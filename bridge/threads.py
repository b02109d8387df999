"""Threads as clients of the API see them."""

import re
import uuid
from collections.abc import Mapping
from typing import Any, Literal

from langgraph.types import StateSnapshot
from sqlalchemy import Connection

from agent import AgentRuntime
from bridge.clock import Clock
from bridge.errors import AlreadyExists, InvalidRequest, NotFound, ThreadBusy
from bridge.persistence import runs, threads
from bridge.persistence.database import Database
from bridge.persistence.threads import ThreadRecord
from bridge.runs.jsonable import to_jsonable
from bridge.runs.records import RunRecord

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ThreadService:
    """Makes, reads and deletes threads."""

    def __init__(self, database: Database, agent: AgentRuntime, clock: Clock) -> None:
        self._database = database
        self._agent = agent
        self._clock = clock

    async def create(
        self,
        thread_id: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        if_exists: Literal["raise", "do_nothing"] = "raise",
        user_id: str = "default",
    ) -> ThreadRecord:
        """A thread; its id is made up unless given. Raises InvalidRequest (id), AlreadyExists."""
        thread_id = thread_id or str(uuid.uuid4())
        if not _ID.fullmatch(thread_id):
            raise InvalidRequest("a thread id is 1 to 64 letters, digits, _ or -")
        made = await self._database.write(
            lambda connection: threads.insert(
                connection,
                thread_id,
                assistant_id=next(iter(self._agent.assistants)),
                user_id=user_id,
                now=self._clock(),
                metadata=metadata,
            )
        )
        if not made and if_exists == "raise":
            raise AlreadyExists(f"thread {thread_id} exists already")
        return await self.get(thread_id)

    async def get(self, thread_id: str) -> ThreadRecord:
        """Raises NotFound."""
        record = await self._database.read(lambda connection: threads.find(connection, thread_id))
        if record is None:
            raise NotFound(f"there is no thread {thread_id}")
        return record

    async def delete(self, thread_id: str) -> None:
        """Forget the thread: rows, checkpoints, files. Raises NotFound; ThreadBusy while a run is active or waits."""
        await self._database.write(lambda connection: _remove(connection, thread_id))
        await self._agent.delete_thread(thread_id)

    async def state(
        self, thread_id: str, checkpoint_id: str | None = None, *, subgraphs: bool = False
    ) -> StateSnapshot:
        """The thread's state, at a checkpoint if one is named. Raises NotFound."""
        record = await self.get(thread_id)
        return await self._agent.get_state(
            thread_id, assistant_id=record.assistant_id, checkpoint_id=checkpoint_id, subgraphs=subgraphs
        )

    async def history(
        self, thread_id: str, *, limit: int, before: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> list[StateSnapshot]:
        """Its checkpoints, newest first. Raises NotFound."""
        record = await self.get(thread_id)
        return await self._agent.get_history(
            thread_id, assistant_id=record.assistant_id, limit=limit, before=before, metadata=metadata
        )

    async def final_values(self, run: RunRecord) -> Mapping[str, Any]:
        """The thread's values as the run left them (the newest, if that checkpoint is gone), ready for JSON."""
        state = await self._agent.get_state(
            run.thread_id, assistant_id=run.assistant_id, checkpoint_id=run.checkpoint_after
        )
        if not state.values and run.checkpoint_after is not None:
            state = await self._agent.get_state(run.thread_id, assistant_id=run.assistant_id)
        values = to_jsonable(state.values)
        if state.interrupts and isinstance(values, dict):
            values["__interrupt__"] = to_jsonable(list(state.interrupts))
        return values if isinstance(values, Mapping) else {"value": values}


def _remove(connection: Connection, thread_id: str) -> None:
    if threads.find(connection, thread_id, lock=True) is None:
        raise NotFound(f"there is no thread {thread_id}")
    if runs.open_on(connection, thread_id):
        raise ThreadBusy(f"thread {thread_id} has an active run; cancel it first")
    threads.remove(connection, thread_id)
