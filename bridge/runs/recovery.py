"""What earlier attempts of a run left behind, and where another goes on."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from langchain_core.messages import BaseMessage
from langgraph.types import Interrupt

from agent import Continuation
from bridge.persistence import stream_parts
from bridge.runs.active import RunResources
from bridge.runs.records import PartId, RunRecord, StreamPart
from bridge.runs.turn_input import message_id

_KEPT_STATES = 50


@dataclass(frozen=True, slots=True)
class Left:
    """What the finished steps of earlier attempts gave."""

    messages: Sequence[BaseMessage]
    title: str | None
    interrupts: Sequence[Interrupt]


@dataclass(frozen=True, slots=True)
class _Beginning:
    checkpoint: str | None  # None: the thread had no state yet


class Recovery:
    """Reads a run's past: in its stream, and in the states of its thread."""

    def __init__(self, run: RunRecord, resources: RunResources) -> None:
        self._run = run
        self._house = resources
        self._began_at: _Beginning | None = None

    @property
    def began_at(self) -> str | None:
        """The checkpoint this attempt began from, if it was the one to begin the run."""
        return self._began_at.checkpoint if self._began_at else None

    async def begin(self) -> None:
        """Nothing of the run is stored yet: note what it begins from."""
        self._began_at = _Beginning(await self._house.agent.newest_checkpoint(self._run.thread_id))

    async def continuation(self) -> Continuation:
        """How the run is to be gone on with."""
        run = self._run
        return await self._house.agent.continuation(run.thread_id, run.run_id, run.assistant_id)

    async def shown(self) -> AsyncIterator[StreamPart]:
        """Every part earlier attempts stored: where this one's answer begins, as it does for the readers."""
        last = PartId(0, 0)
        while parts := await self._house.database.read(partial(stream_parts.read, run_id=self._run.run_id, after=last)):
            for part in parts:
                yield part
            last = parts[-1].id

    async def left(self) -> Left:
        """What was finished; not all of it may have been shown or stored."""
        run = self._run
        state = await self._house.agent.get_state(run.thread_id, assistant_id=run.assistant_id)
        messages = await self._own(state.values.get("messages") or ())
        title = state.values.get("title") if isinstance(state.values, Mapping) else None
        return Left(messages, title, state.interrupts)

    async def roll_back(self, fence: int) -> None:
        """Put the thread back to before the run; one that has stored nothing yet does not know where that was, and need not."""
        if await self.continuation() is not Continuation.FRESH:
            await self._house.agent.rollback(self._run.thread_id, await self._checkpoint_before(), fence=fence)

    async def _own(self, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
        """Those the run has added: behind its input or, where it resumed without one, beyond what stood before it."""
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
