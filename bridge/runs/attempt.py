"""One attempt of one run: from its input, or from where a crash left it, to an end that is committed once."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.errors import GraphDrained
from langgraph.types import Command, Send
from sqlalchemy import Connection

from agent import Continuation, RunContext, RunRequest
from agent.errors import AgentError, LeaseLost
from bridge.delivery.composer import Composition, compose
from bridge.delivery.events import derive
from bridge.errors import LeaseExpired
from bridge.persistence import inbox, runs, stream_parts, threads, transcript
from bridge.persistence.inbox import StoredEvent
from bridge.persistence.threads import ThreadStatus
from bridge.runs.active import ActiveRun, RunResources
from bridge.runs.jsonable import to_jsonable
from bridge.runs.observer import Observer
from bridge.runs.records import CancelAction, PartId, RunRecord, RunStatus, StreamPart
from bridge.runs.steering import Steering
from bridge.runs.stream import LiveStream
from bridge.runs.turn_input import Told, as_said, message_id
from channels.contract import TranscriptFile

logger = logging.getLogger(__name__)

_KEPT_STATES = 50
_OURS = ("messages", "updates", "custom")  # what the house itself needs of the graph, in LangGraph's names
_CONTEXT_KEYS = frozenset({"model_name", "thinking_enabled", "is_plan_mode", "subagent_enabled"})
_THREAD_STATUS = {
    RunStatus.SUCCESS: ThreadStatus.IDLE,
    RunStatus.INTERRUPTED: ThreadStatus.INTERRUPTED,
    RunStatus.ERROR: ThreadStatus.ERROR,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `user_message` is what the person is told of a failure."""

    status: RunStatus
    error: Mapping[str, str] | None = None
    user_message: str | None = None
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class _Beginning:
    checkpoint: str | None  # None: the thread had no state yet


class Attempt:
    """Drives the graph, shows and notes what it gives, commits the end."""

    def __init__(self, active: ActiveRun, stream: LiveStream, resources: RunResources) -> None:
        self._active = active
        self._run = active.run
        self._stream = stream
        self._house = resources
        self._composition = Composition.begin(active.run.run_id)
        stream.on_part = self._compose
        self._began_at: _Beginning | None = None
        self._observer = Observer(
            self._run, self._run.user_id, resources.database, resources.artifacts, resources.clock
        )

    async def outcome(self) -> Outcome | None:
        """How the attempt ends; None when the process drains and the run is to be continued later."""
        await self._house.agent.claim(self._run.thread_id, self._run.fence)
        if self._run.attempt > 1:
            await self._recall()
        if self._run.attempt > self._house.config.max_attempts:
            return _given_up(self._run)
        drive = asyncio.create_task(self._drive(), name=f"graph-{self._run.run_id}")
        stop = asyncio.create_task(self._active.stop.wait(), name=f"stop-{self._run.run_id}")
        try:
            await asyncio.wait({drive, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not drive.done():
                return await self._stopped(drive)
            return self._ended(drive)
        finally:
            drive.cancel()
            stop.cancel()
            await asyncio.gather(drive, stop, return_exceptions=True)

    async def finish(self, outcome: Outcome) -> None:
        """Commit the end, the rest of the stream and the answer together, then show the last part. Raises LeaseExpired."""
        agent, run = self._house.agent, self._run
        self._active.lease.check()
        await agent.finish_turn(run.thread_id, fence=run.fence)
        checkpoint = await agent.newest_checkpoint(run.thread_id)
        self._emit("house", {"type": "ended", "failure": outcome.user_message, "stopped": outcome.stopped})
        if outcome.error is not None:
            self._emit("error", outcome.error)
        tail = await self._house.hub.drain(self._stream)
        end = self._stream.number("end", (), b"null")
        topics = await self._house.database.write(
            lambda connection: self._commit(connection, outcome, checkpoint, [*tail, end])
        )
        self._stream.close(end)
        for topic in topics:
            self._house.signals.notify(topic)

    def _commit(
        self, connection: Connection, outcome: Outcome, checkpoint: str | None, parts: Sequence[StreamPart]
    ) -> Sequence[str]:
        """Give the topics on which something changed. Raises LeaseExpired when the run is somebody else's by now."""
        run, now = self._run, self._house.clock()
        threads.lock(connection, run.thread_id)
        before = self._began_at.checkpoint if self._began_at else None
        ended = replace(run, checkpoint_before=before, checkpoint_after=checkpoint, error=outcome.error)
        if not runs.finish(connection, ended, outcome.status, now=now):
            raise LeaseExpired(f"run {run.run_id} was taken over before its end was committed")
        stream_parts.insert(connection, run.run_id, parts)
        waiting = self._release_steering(connection)
        transcript.append_reply(connection, run.thread_id, run.run_id, self._composition.reply, now=now)
        threads.set_status(
            connection, run.thread_id, _THREAD_STATUS[outcome.status], now=now, title=self._observer.title
        )
        topics = {"inbox": waiting, "runs": runs.any_pending(connection, run.thread_id)}
        return [f"thread:{run.thread_id}", *(topic for topic, is_meant in topics.items() if is_meant)]

    def _release_steering(self, connection: Connection) -> bool:
        """What the run was told while it worked belongs to its turn; what it was not is decided anew (then True)."""
        run, now = self._run, self._house.clock()
        steering = inbox.steering(connection, run.run_id)
        if not steering:
            return False
        told = [stored for stored in steering if message_id(stored.id) in self._observer.seen_ids]
        for stored in told:
            transcript.append_person(connection, run.thread_id, run.run_id, as_said(stored.event), now=now)
        return inbox.release_steering(connection, run.run_id, told=[stored.id for stored in told], now=now)

    async def _drive(self) -> None:
        agent, run = self._house.agent, self._run
        if run.attempt > 1:  # before its state is read; otherwise the stream claims
            await agent.claim(run.thread_id, run.fence)
        self._emit("metadata", {"run_id": run.run_id, "attempt": run.attempt})
        events = await self._events()
        if events:
            self._observer.asked_of = events[0].event.sender.id
        request = await self._request(events)
        if request is None:
            return
        modes = [*_OURS, *(mode for mode in run.spec.stream_modes if mode not in {*_OURS, "messages-tuple"})]
        parts = agent.stream(request, modes=modes, subgraphs=run.spec.stream_subgraphs, control=self._active.control)
        async for part in parts:
            await self._take(part)

    async def _take(self, part: Mapping[str, Any]) -> None:
        mode, namespace, data = part["type"], tuple(part["ns"]), part["data"]
        if mode == "values" and part.get("interrupts"):
            data = {**data, "__interrupt__": list(part["interrupts"])}
        self._emit(mode, data, namespace)
        if mode == "updates" and not namespace:
            for note in await self._observer.notice(data):
                self._emit("house", note)

    def _emit(self, mode: str, data: Any, namespace: tuple[str, ...] = ()) -> None:
        self._stream.emit(mode, namespace, data)

    def _compose(self, part: StreamPart) -> None:
        """Keep the answer as every reader of the stream has it: it is written down when the run ends, however it ends."""
        for event in derive(part):
            self._composition = compose(self._composition, event)

    async def _recall(self) -> None:
        """What earlier attempts had shown is where this one's answer begins, as it is for the readers."""
        run_id, last = self._run.run_id, PartId(0, 0)
        while parts := await self._house.database.read(partial(stream_parts.read, run_id=run_id, after=last)):
            for part in parts:
                self._compose(part)
            last = parts[-1].id

    async def _request(self, events: Sequence[StoredEvent]) -> RunRequest | None:
        """What to ask of the agent; None when an earlier attempt has finished all of it."""
        run, continuation = self._run, Continuation.FRESH
        if run.attempt > 1:
            continuation = await self._house.agent.continuation(run.thread_id, run.run_id, run.assistant_id)
        if continuation is Continuation.FRESH:
            self._began_at = _Beginning(await self._house.agent.newest_checkpoint(run.thread_id))
            if run.attempt > 1:
                self._emit("house", {"type": "finished", "messages": []})
            messages = await self._input(events)
            command = _command(run.spec.command) if run.spec.command else None
            return self._agent_request(messages, command)
        await self._catch_up()
        return self._agent_request(None, None) if continuation is Continuation.UNFINISHED else None

    def _agent_request(self, messages: Mapping[str, Any] | None, command: Command[Any] | None) -> RunRequest:
        run, spec = self._run, self._run.spec
        known = {key: value for key, value in spec.context.items() if key in _CONTEXT_KEYS and value is not None}
        context = RunContext(
            thread_id=run.thread_id,
            run_id=run.run_id,
            user_id=run.user_id,
            steering=Steering(self._house.database, run.run_id),
            extra={key: value for key, value in spec.context.items() if key not in _CONTEXT_KEYS},
            **known,
        )
        return RunRequest(
            context=context,
            fence=run.fence,
            assistant_id=run.assistant_id,
            input=messages,
            command=command,
            config=spec.config,
            checkpoint_id=spec.checkpoint_id if messages is not None or command is not None else None,
            interrupt_before=spec.interrupt_before,
            interrupt_after=spec.interrupt_after,
            durability=spec.durability,
        )

    async def _catch_up(self) -> None:
        """An earlier attempt finished some steps: show again what they gave, since not all of it may have been shown or stored."""
        run = self._run
        state = await self._house.agent.get_state(run.thread_id, assistant_id=run.assistant_id)
        messages = await self._own_messages(state.values.get("messages") or ())
        self._emit("house", {"type": "finished", "messages": to_jsonable(list(messages))})
        self._observer.title = state.values.get("title") if isinstance(state.values, Mapping) else None
        notes = await self._observer.messages(messages)
        if state.interrupts:
            notes += await self._observer.notice({"__interrupt__": state.interrupts})
        for note in notes:
            self._emit("house", note)

    async def _own_messages(self, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
        """Those this run has added: behind its input or, where it resumed without one, beyond what stood before it."""
        run = self._run
        if run.spec.command is None:
            return _since_input(messages, _input_ids(run))
        before = await self._house.agent.get_state(
            run.thread_id, assistant_id=run.assistant_id, checkpoint_id=await self._checkpoint_before()
        )
        known = {message.id for message in before.values.get("messages") or ()}
        return [message for message in messages if message.id not in known]

    async def _checkpoint_before(self) -> str | None:
        """Where to go back to: noted when the run began, or the newest state an earlier run left."""
        if self._began_at is not None:
            return self._began_at.checkpoint
        states = await self._house.agent.get_history(self._run.thread_id, limit=_KEPT_STATES)
        earlier = [state for state in states if (state.metadata or {}).get("run_id") != self._run.run_id]
        return str(earlier[0].config["configurable"]["checkpoint_id"]) if earlier else None

    async def _events(self) -> Sequence[StoredEvent]:
        trigger = self._run.spec.trigger_event
        if trigger is None:
            return ()
        return await self._house.database.read(lambda connection: inbox.events_of_turn(connection, trigger))

    async def _input(self, events: Sequence[StoredEvent]) -> Mapping[str, Any] | None:
        run = self._run
        if run.spec.input is not None or not events:
            return run.spec.input
        told = await self._house.turn_input.tell(run.thread_id, events)
        if told.files:
            await self._house.database.write(lambda connection: self._remember(connection, told))
        return {"messages": told.messages}

    def _remember(self, connection: Connection, told: Told) -> None:
        """The files are here: another attempt must not fetch them again, and the transcript can name them."""
        runs.set_input(connection, self._run, {"messages": told.messages})
        for sent_as, uploads in told.files.items():
            files = [TranscriptFile(upload.path, upload.name, upload.size_bytes) for upload in uploads]
            transcript.set_files(connection, self._run.run_id, sent_as, files)

    async def _stopped(self, drive: asyncio.Task[None]) -> Outcome:
        drive.cancel()
        await asyncio.wait({drive})
        if self._active.action is CancelAction.ROLLBACK:
            await self._roll_back()
            error = {"error": "UserRollback", "message": "The run was stopped and the thread put back to before it."}
            return Outcome(RunStatus.INTERRUPTED, error=error, stopped=True)
        return Outcome(RunStatus.INTERRUPTED, stopped=True)

    async def _roll_back(self) -> None:
        """Put the thread back to before the run; one that has stored nothing yet does not know where that was, and need not."""
        agent, run = self._house.agent, self._run
        if await agent.continuation(run.thread_id, run.run_id, run.assistant_id) is not Continuation.FRESH:
            await agent.rollback(run.thread_id, await self._checkpoint_before(), fence=run.fence)

    def _ended(self, drive: asyncio.Task[None]) -> Outcome | None:
        error = None if drive.cancelled() else drive.exception()
        if error is None:
            return Outcome(RunStatus.INTERRUPTED if self._observer.interrupted else RunStatus.SUCCESS)
        if isinstance(error, GraphDrained):
            return None
        if isinstance(error, LeaseLost | LeaseExpired):
            raise error
        return _failed(self._run, error)


def _command(fields: Mapping[str, Any]) -> Command[Any]:
    """The command a client wrote as JSON; a `Send` comes as {"node", "input"}."""
    goto = fields.get("goto")
    targets = [
        Send(target["node"], target.get("input")) if isinstance(target, Mapping) else target
        for target in (goto if isinstance(goto, list) else [goto] if goto else [])
    ]
    return Command(**{**fields, "goto": targets} if targets else fields)


def _failed(run: RunRecord, error: BaseException) -> Outcome:
    if isinstance(error, AgentError):
        logger.warning("run %s failed: %s", run.run_id, error)
        message = error.user_message or "The agent could not finish this."
        return Outcome(RunStatus.ERROR, {"error": type(error).__name__, "message": message}, message)
    logger.error("run %s failed", run.run_id, exc_info=error)
    message = f"Something went wrong inside (reference {run.run_id[:8]}). Please try again."
    return Outcome(RunStatus.ERROR, {"error": type(error).__name__, "message": message}, message)


def _given_up(run: RunRecord) -> Outcome:
    message = "This could not be finished: the process stopped every time it was tried. Please try again, or ask in another way."
    logger.error("run %s is given up after %d attempts", run.run_id, run.attempt - 1)
    return Outcome(RunStatus.ERROR, {"error": "TooManyAttempts", "message": message}, message)


def _input_ids(run: RunRecord) -> frozenset[str]:
    if run.spec.trigger_event is not None:
        return frozenset({message_id(run.spec.trigger_event)})
    messages = (run.spec.input or {}).get("messages") or ()
    return frozenset(message["id"] for message in messages if isinstance(message, Mapping) and message.get("id"))


def _since_input(messages: Sequence[BaseMessage], input_ids: frozenset[str]) -> Sequence[BaseMessage]:
    """The messages behind the last one of the run's input; where its ids are not known, those behind the last human one."""
    marks = [
        position
        for position, message in enumerate(messages)
        if (message.id in input_ids if input_ids else message.type == "human")
    ]
    return messages[marks[-1] + 1 :] if marks else ()
