"""Start, watch and stop runs: the one way in for both clients, the chats and the HTTP gateway."""

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from agent import AgentRuntime
from bridge.clock import Clock
from bridge.errors import InvalidRequest, NotFound, RunFinished, ThreadBusy
from bridge.persistence import runs, threads, transcript
from bridge.persistence.database import Database
from bridge.persistence.transcript import Said
from bridge.runs.jsonable import to_json
from bridge.runs.queue import RunQueue
from bridge.runs.records import CancelAction, MultitaskStrategy, NewRun, PartId, RunRecord, RunStatus, StreamPart
from bridge.runs.stream import StreamHub
from bridge.signals import Signals

_POLL_SECONDS = 2.0  # how soon an end in another process is noticed


class RunManager:
    """Runs of all threads, whoever asked for them."""

    def __init__(
        self, database: Database, agent: AgentRuntime, queue: RunQueue, hub: StreamHub, signals: Signals, clock: Clock
    ) -> None:
        self._database = database
        self._agent = agent
        self._queue = queue
        self._hub = hub
        self._signals = signals
        self._clock = clock

    async def create(self, request: NewRun) -> RunRecord:
        """Store a run and have it started in its turn.

        Raises NotFound (thread), InvalidRequest (assistant), ThreadBusy (strategy `reject` on a busy thread).
        """
        if request.assistant_id not in self._agent.assistants:
            raise InvalidRequest(f"there is no assistant {request.assistant_id!r}")
        request = replace(request, spec=replace(request.spec, input=with_message_ids(request.spec.input)))
        run, to_stop = await self._database.write(lambda connection: self._create(connection, request))
        for run_id, action in to_stop.items():
            self._queue.interrupt(run_id, action)
        self._tell(run)
        return run

    async def get(self, thread_id: str, run_id: str) -> RunRecord:
        """The run. Raises NotFound, also when it belongs to another thread."""
        run = await self._find(run_id)
        if run.thread_id != thread_id:
            raise NotFound(f"there is no run {run_id}")
        return run

    async def list(
        self, thread_id: str, *, limit: int = 10, offset: int = 0, status: RunStatus | None = None
    ) -> Sequence[RunRecord]:
        """The thread's runs, newest first."""
        return await self._database.read(
            lambda connection: runs.of_thread(connection, thread_id, limit=limit, offset=offset, status=status)
        )

    async def stream(self, run_id: str, *, after: PartId | None = None) -> AsyncIterator[StreamPart]:
        """Every part behind `after`, live until `end`. A run whose parts are gone gives its thread's values and `end`."""
        last = after or PartId(0, 0)
        async for part in self._hub.read(run_id, after):
            last = part.id
            yield part
            if part.mode == "end":
                return
        run = await self._find(run_id)
        state = await self._agent.get_state(run.thread_id, assistant_id=run.assistant_id)
        final = PartId(max(run.attempt, last.attempt), last.seq + 1)
        yield StreamPart(final, "values", (), to_json(state.values))
        yield StreamPart(PartId(final.attempt, final.seq + 1), "end", (), b"null")

    async def wait(self, run_id: str) -> RunRecord:
        """Wait until the run has ended. Raises NotFound."""
        first = await self._find(run_id)
        with self._signals.watch(f"thread:{first.thread_id}") as watch:
            while not (run := await self._find(run_id)).status.is_final:
                await watch.wait(_POLL_SECONDS)
        return run

    async def cancel(
        self, run_id: str, action: CancelAction = CancelAction.INTERRUPT, *, wait: bool = False
    ) -> RunRecord:
        """Stop a run. `wait` returns when it has really stopped. Raises NotFound; RunFinished if it ended by itself."""
        run = await self._database.write(lambda connection: self._cancel(connection, run_id, action))
        self._queue.interrupt(run_id, action)
        self._tell(run)
        return await self.wait(run_id) if wait else run

    async def delete(self, thread_id: str, run_id: str) -> None:
        """Forget a run that has ended. Raises NotFound, ThreadBusy."""
        run = await self.get(thread_id, run_id)
        if not run.status.is_final:
            raise ThreadBusy(f"run {run_id} has not ended; cancel it first")
        await self._database.write(lambda connection: runs.remove(connection, run_id))
        self._tell(run)

    def _tell(self, run: RunRecord) -> None:
        """Something has changed about this run, and with it perhaps about others of its thread: who waits, who may start."""
        self._signals.notify(f"thread:{run.thread_id}")
        self._signals.notify(f"run:{run.run_id}")
        self._queue.wake()

    async def _find(self, run_id: str) -> RunRecord:
        run = await self._database.read(lambda connection: runs.find(connection, run_id))
        if run is None:
            raise NotFound(f"there is no run {run_id}")
        return run

    def _create(self, connection: Connection, request: NewRun) -> tuple[RunRecord, Mapping[str, CancelAction]]:
        now = self._clock()
        if request.if_not_exists == "create":
            threads.insert(
                connection, request.thread_id, assistant_id=request.assistant_id, user_id=request.user_id, now=now
            )
        if threads.find(connection, request.thread_id, lock=True) is None:
            raise NotFound(f"there is no thread {request.thread_id}")
        to_stop = self._make_room(connection, request)
        run = runs.insert(connection, str(uuid.uuid4()), request, now=now)
        for text in _said(request.spec.input):
            transcript.append_person(connection, request.thread_id, run.run_id, Said(text), now=now)
        return run, to_stop

    def _make_room(self, connection: Connection, request: NewRun) -> Mapping[str, CancelAction]:
        open_runs = runs.open_on(connection, request.thread_id)
        if not open_runs or request.multitask is MultitaskStrategy.ENQUEUE:
            return {}
        if request.multitask is MultitaskStrategy.REJECT:
            raise ThreadBusy(
                "Thread is already running a task. Wait for it to finish or choose another multitask strategy."
            )
        rollback = request.multitask is MultitaskStrategy.ROLLBACK
        action = CancelAction.ROLLBACK if rollback else CancelAction.INTERRUPT
        return stop_all(connection, open_runs, action, now=self._clock())

    def _cancel(self, connection: Connection, run_id: str, action: CancelAction) -> RunRecord:
        run = runs.find(connection, run_id)
        if run is None:
            raise NotFound(f"there is no run {run_id}")
        if run.status.is_final and run.status is not RunStatus.INTERRUPTED:
            raise RunFinished(f"run {run_id} has ended already ({run.status})")
        stop_all(connection, [run], action, now=self._clock())
        return runs.find(connection, run_id) or run


def stop_all(
    connection: Connection, open_runs: Sequence[RunRecord], action: CancelAction, *, now: Any
) -> Mapping[str, CancelAction]:
    """End those that wait; leave word for the one that runs. Gives what the queue of this process is to be told."""
    to_stop: dict[str, CancelAction] = {}
    for run in open_runs:
        if not runs.end_pending(connection, run.run_id, now=now) and runs.ask_to_stop(
            connection, run.run_id, action, now=now
        ):
            to_stop[run.run_id] = action
    return to_stop


def with_message_ids(values: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The input with an id on every message, so that giving it again after a crash adds nothing."""
    messages = values.get("messages") if values else None
    if values is None or messages is None:
        return values
    items = messages if isinstance(messages, list | tuple) else [messages]
    return {**values, "messages": [_with_id(item) for item in items]}


def _with_id(message: Any) -> Any:
    if isinstance(message, str):
        message = {"type": "human", "content": message}
    elif isinstance(message, list | tuple) and len(message) == 2:
        message = {"role": message[0], "content": message[1]}
    if isinstance(message, Mapping) and not message.get("id"):
        return {**message, "id": str(uuid.uuid4())}
    return message


def _said(values: Mapping[str, Any] | None) -> Sequence[str]:
    """What people say in an input, for the transcript."""
    messages = (values or {}).get("messages") or ()
    human = [
        item
        for item in messages
        if isinstance(item, Mapping) and item.get("type", item.get("role")) in {"human", "user"}
    ]
    return [item["content"] for item in human if isinstance(item.get("content"), str)]
