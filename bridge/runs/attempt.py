"""One attempt of one run: from its input, or from where a crash left it, to an end that is committed once."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph.errors import GraphDrained
from sqlalchemy import Connection

from agent import Continuation, RunRequest
from agent.errors import CheckpointNotStored, LeaseLost
from bridge.delivery.composer import Composition, compose, settle
from bridge.delivery.events import derive
from bridge.errors import LeaseExpired
from bridge.persistence import clarifications, inbox, runs, stream_parts, threads, transcript
from bridge.persistence.inbox import StoredEvent
from bridge.persistence.threads import ThreadStatus
from bridge.runs import agent_request
from bridge.runs.active import ActiveRun, RunResources
from bridge.runs.ending import RESTARTED, ROLLED_BACK, STOPPED, RunEnding, failed, given_up, unreadable
from bridge.runs.jsonable import to_jsonable
from bridge.runs.observer import Observer
from bridge.runs.records import CancelAction, RunRecord, RunStatus, StreamPart
from bridge.runs.recovery import Recovery
from bridge.runs.stream import LiveStream
from bridge.runs.turn_input import Told, as_said, linked, message_id, problems
from channels.contract import Clarification, Reply, TranscriptFile

_OURS = ("messages", "updates", "custom")  # what the house itself needs of the graph, in LangGraph's names
_THREAD_STATUS = {
    RunStatus.SUCCESS: ThreadStatus.IDLE,
    RunStatus.INTERRUPTED: ThreadStatus.INTERRUPTED,
    RunStatus.ERROR: ThreadStatus.ERROR,
}

_ENDINGS = {
    CancelAction.INTERRUPT: STOPPED,
    CancelAction.ROLLBACK: ROLLED_BACK,
    CancelAction.RESTART: RESTARTED,
}


class Attempt:
    """Drives the graph, shows and notes what it gives, commits the end."""

    def __init__(self, active: ActiveRun, stream: LiveStream, resources: RunResources) -> None:
        self._active = active
        self._run = active.run
        self._stream = stream
        self._house = resources
        self._composition = Composition.begin(active.run.run_id)
        stream.on_part = self._compose
        self._recovery = Recovery(active.run, resources)
        self._is_left_behind = False
        self._observer = self._new_observer()

    async def drive(self) -> RunEnding | None:
        """How the attempt ends; None when the process drains and the run is to be continued later."""
        if self._run.attempt > 1:
            async for part in self._recovery.shown():
                self._compose(part)
        if self._is_given_up:
            return given_up(self._run)
        await self._house.agent.claim(self._run.thread_id, self._run.fence)
        if self._run.unreadable is not None:
            return unreadable(self._run)
        while (ending := await self._drive_until_stopped()) is RESTARTED:
            await self._begin_again()
        return ending

    async def _drive_until_stopped(self) -> RunEnding | None:
        drive = asyncio.create_task(self._drive_graph(), name=f"graph-{self._run.run_id}")
        stop = asyncio.create_task(self._active.stop.wait(), name=f"stop-{self._run.run_id}")
        try:
            await asyncio.wait({drive, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not drive.done():
                return await self._stopped(drive)
            return self._ended(drive)
        finally:
            stop.cancel()
            await asyncio.gather(stop, return_exceptions=True)
            await self._end(drive)

    async def finish(self, ending: RunEnding) -> None:
        """Commit the end, the rest of the stream and the answer together, then show the last part. Raises LeaseExpired."""
        self._active.lease.check()
        await self._finish_turn()
        checkpoint = await self._house.agent.newest_checkpoint(self._run.thread_id)
        self._emit("house", {"type": "ended", "failure": ending.user_message, "stopped": ending.stopped})
        if ending.error is not None:
            self._emit("error", ending.error)
        tail = await self._house.hub.drain(self._stream)
        end = self._stream.number("end", (), b"null")
        topics = await self._house.database.write(
            lambda connection: self._commit(connection, ending, checkpoint, [*tail, end])
        )
        self._stream.close(end)
        for topic in topics:
            self._house.signals.notify(topic)

    async def _finish_turn(self) -> None:
        """A run that is given up ends also where the thread's states are refused to it."""
        agent, run = self._house.agent, self._run
        try:
            if self._is_given_up:
                await agent.claim(run.thread_id, run.fence)
            await agent.finish_turn(run.thread_id, fence=run.fence)
        except (LeaseLost, CheckpointNotStored):
            if not self._is_given_up:
                raise

    @property
    def _is_given_up(self) -> bool:
        return self._run.attempt > self._house.config.max_attempts

    def _commit(
        self, connection: Connection, ending: RunEnding, checkpoint: str | None, parts: Sequence[StreamPart]
    ) -> Sequence[str]:
        """Give the topics on which something changed. Raises LeaseExpired when the run is somebody else's by now."""
        run, now = self._run, self._house.clock()
        threads.lock(connection, run.thread_id)
        ended = replace(run, checkpoint_before=self._recovery.began_at, checkpoint_after=checkpoint, error=ending.error)
        if not runs.finish(connection, ended, ending.status, now=now, usage=self._observer.usage.by_model()):
            raise LeaseExpired(f"run {run.run_id} was taken over before its end was committed")
        stream_parts.insert(connection, run.run_id, parts)
        waiting = self._release_steering(connection)
        transcript.append_reply(connection, run.thread_id, run.run_id, self._reply(connection), now=now)
        threads.set_status(
            connection, run.thread_id, _THREAD_STATUS[ending.status], now=now, title=self._observer.title
        )
        topics = {"inbox": waiting, "runs": runs.any_pending(connection, run.thread_id)}
        return [f"thread:{run.thread_id}", *(topic for topic, is_meant in topics.items() if is_meant)]

    def _reply(self, connection: Connection) -> Reply:
        """The answer, with its questions as they stand now: somebody may have answered before the run had ended."""
        reply = self._composition.reply
        if any(isinstance(part, Clarification) for part in reply.parts):
            for question in clarifications.of_run(connection, self._run.run_id):
                reply = settle(reply, question)
        return reply

    def _release_steering(self, connection: Connection) -> bool:
        """What the run was told while it worked belongs to its turn; what it was not is decided anew (then True)."""
        run, now = self._run, self._house.clock()
        if not inbox.is_steered(connection, run.run_id):
            return False
        steering = inbox.steering(connection, run.run_id)
        told = [stored for stored in steering if message_id(stored.id) in self._observer.seen_ids]
        for stored in told:
            transcript.append_person(connection, run.thread_id, run.run_id, as_said(stored.event), now=now)
        return inbox.release_steering(connection, run.run_id, told=[stored.id for stored in told], now=now)

    async def _drive_graph(self) -> None:
        agent, run = self._house.agent, self._run
        if run.attempt > 1:  # before its state is read; otherwise the stream claims
            await agent.claim(run.thread_id, run.fence)
        self._emit("metadata", {"run_id": run.run_id, "attempt": run.attempt})
        events = await self._events()
        if events:
            sender = events[0].event.sender
            self._observer.asked_of = clarifications.ANYBODY if sender.is_anonymous else sender.id
        request = await self._request(events)
        if request is None:
            return
        modes = [*_OURS, *(mode for mode in run.spec.stream_modes if mode not in {*_OURS, "messages-tuple"})]
        parts = agent.stream(request, modes=modes, subgraphs=run.spec.stream_subgraphs, control=self._active.control)
        async for part in parts:
            if self._is_left_behind:
                return
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

    async def _request(self, events: Sequence[StoredEvent]) -> RunRequest | None:
        """What to ask of the agent; None when an earlier attempt has finished all of it."""
        run, continuation = self._run, Continuation.FRESH
        if run.attempt > 1:
            continuation = await self._recovery.continuation()
        if continuation is Continuation.FRESH:
            await self._recovery.begin()
            if run.attempt > 1:
                self._emit("house", {"type": "finished", "messages": []})
            given = await self._input(events)
            self._say_problems(given)
            return agent_request.begin(run, self._house.database, given)
        self._say_problems(run.spec.input)
        await self._catch_up()
        return agent_request.go_on(run, self._house.database) if continuation is Continuation.UNFINISHED else None

    def _say_problems(self, given: Mapping[str, Any] | None) -> None:
        """Every attempt says it: what an earlier one had said may not have been stored."""
        for problem in problems(given) if self._run.spec.trigger_event is not None else ():
            self._emit("house", {"type": "notice", "text": problem})

    async def _catch_up(self) -> None:
        """An earlier attempt finished some steps: show again what they gave, since not all of it may have been shown or stored."""
        left = await self._recovery.left()
        self._emit("house", {"type": "finished", "messages": to_jsonable(list(left.messages))})
        self._observer.title = left.title
        notes = await self._observer.messages(left.messages)
        if left.interrupts:
            notes += await self._observer.notice({"__interrupt__": left.interrupts})
        for note in notes:
            self._emit("house", note)

    async def _events(self) -> Sequence[StoredEvent]:
        trigger = self._run.spec.trigger_event
        if trigger is None:
            return ()
        return await self._house.database.read(lambda connection: inbox.events_of_turn(connection, trigger))

    async def _input(self, events: Sequence[StoredEvent]) -> Mapping[str, Any] | None:
        run = self._run
        if run.spec.input is not None or not events:
            return run.spec.input
        turn_input, resumes = self._house.turn_input, run.spec.command is not None
        told = await (turn_input.tell_files if resumes else turn_input.tell)(run.thread_id, events)
        if told is None:
            return None
        if run.spec.answers is not None:
            told = replace(told, messages=[linked(message, run.spec.answers) for message in told.messages])
        if told.is_more_than_text:
            await self._house.database.write(lambda connection: self._remember(connection, told))
            await turn_input.written_down(run.thread_id)
        return {"messages": told.messages}

    def _remember(self, connection: Connection, told: Told) -> None:
        """The files are here: another attempt finds what was told of them, and the transcript can name them."""
        runs.set_input(connection, self._run, {"messages": told.messages})
        for sent_as, uploads in told.files.items():
            files = [TranscriptFile(upload.path, upload.name, upload.size_bytes) for upload in uploads]
            transcript.set_files(connection, self._run.run_id, sent_as, files)
        for sent_as, text in told.spoken.items():
            transcript.set_spoken(connection, self._run.run_id, sent_as, text)

    async def _stopped(self, drive: asyncio.Task[None]) -> RunEnding:
        await self._end(drive)
        if self._is_left_behind:
            await self._raise_fence()
        wish = self._active.take_wish()
        if wish is not CancelAction.INTERRUPT:
            await self._recovery.roll_back(self._run.fence)
        return _ENDINGS[wish]

    async def _begin_again(self) -> None:
        """The person has changed what the turn is about: nothing of it counts any more. Raises LeaseExpired."""
        run, now = self._run, self._house.clock()

        def begin(connection: Connection) -> RunRecord | None:
            clarifications.forget(connection, run.run_id)
            return runs.begin_again(connection, run, now=now)

        again = await self._house.database.write(begin)
        if again is None:
            raise LeaseExpired(f"run {run.run_id} was taken over before it began anew")
        if again.cancel_action is not None:  # somebody wants it to end meanwhile
            self._active.ask_to_stop(again.cancel_action)
        self._run, self._is_left_behind = again, False
        self._recovery = Recovery(again, self._house)
        spent, self._observer = self._observer.usage, self._new_observer()
        self._observer.usage = spent
        self._emit("house", {"type": "restarted"})

    def _new_observer(self) -> Observer:
        run, house = self._run, self._house
        expiry_seconds = house.config.question_expiry_seconds
        return Observer(run, run.user_id, house.database, house.artifacts, house.clock, expiry_seconds=expiry_seconds)

    async def _end(self, drive: asyncio.Task[None]) -> None:
        if not self._is_left_behind:
            self._is_left_behind = not await self._house.stubborn.end(drive)

    async def _raise_fence(self) -> None:
        """From now on the graph that was left behind can store nothing in the thread; this attempt still can."""
        run, now = self._run, self._house.clock()
        fence = await self._house.database.write(lambda connection: runs.raise_fence(connection, run, now=now))
        if fence is None:
            raise LeaseExpired(f"run {run.run_id} was taken over before it was stopped")
        await self._house.agent.claim(run.thread_id, fence)
        self._run = replace(run, fence=fence)

    def _ended(self, drive: asyncio.Task[None]) -> RunEnding | None:
        error = None if drive.cancelled() else drive.exception()
        if error is None:
            return RunEnding(RunStatus.INTERRUPTED if self._observer.interrupted else RunStatus.SUCCESS)
        if isinstance(error, GraphDrained):
            return None
        if isinstance(error, LeaseLost | LeaseExpired):
            raise error
        return failed(self._run, error)
