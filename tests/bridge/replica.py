"""One process's share of the runs, on a database that others may use at the same time."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent import AgentRuntime
from agent.config import AgentConfig
from bridge.clock import Clock, utc_now
from bridge.files.artifacts import Artifacts
from bridge.files.config import UploadsConfig
from bridge.files.uploads import Uploads
from bridge.persistence.database import Database
from bridge.runs.active import RunResources
from bridge.runs.config import RunsConfig
from bridge.runs.executor import Executor
from bridge.runs.manager import RunManager
from bridge.runs.queue import EmbeddedRunQueue
from bridge.runs.records import NewRun, PartId, RunRecord, RunSpec, StreamPart
from bridge.runs.stream import StreamHub
from bridge.runs.stubborn import StubbornGraphs
from bridge.runs.turn_input import TurnInput
from bridge.runs.voices import Voices
from bridge.signals import Signals
from bridge.threads import ThreadService
from bridge.transcription import TranscriptionConfig

WAIT_SECONDS = 10.0


class Replica:
    """Starts, watches and stops runs."""

    def __init__(
        self,
        database: Database,
        agent: AgentRuntime,
        config: RunsConfig,
        *,
        owner: str = "replica",
        clock: Clock,
        channels: Mapping[str, Any],
        transcriber: Any = None,
        listening_seconds: float = 60,
    ) -> None:
        self.database = database
        self.agent = agent
        self.owner = owner
        self.signals = Signals()
        self.hub = StreamHub(database, self.signals)
        self.stubborn = StubbornGraphs()
        uploads = Uploads(agent.paths, UploadsConfig())
        resources = RunResources(
            agent=agent,
            database=database,
            hub=self.hub,
            signals=self.signals,
            turn_input=TurnInput(
                uploads, channels, Voices(uploads, transcriber, TranscriptionConfig(timeout_seconds=listening_seconds))
            ),
            artifacts=Artifacts(agent.paths),
            config=config,
            clock=clock,
            stubborn=self.stubborn,
        )
        self.queue = EmbeddedRunQueue(database, Executor(resources), self.signals, config, owner, clock)
        self.manager = RunManager(database, agent, self.queue, self.hub, self.signals, clock)
        self.threads = ThreadService(database, agent, clock)

    async def start(self, from_owners: Collection[str] = ()) -> None:
        self.hub.start()
        await self.queue.start(from_owners)

    async def stop(self) -> None:
        await self.queue.stop()
        await self.stubborn.stop()
        await self.hub.stop()

    async def run(self, text: str, thread_id: str = "t", **options: Any) -> RunRecord:
        """Ask for a run; the thread is made if need be."""
        spec = RunSpec(input={"messages": [{"type": "human", "content": text}]}, stream_modes=("values",))
        return await self.manager.create(NewRun(thread_id, spec=spec, if_not_exists="create", **options))

    async def ended(self, run: RunRecord) -> RunRecord:
        """Wait until the run has ended."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.manager.wait(run.run_id)

    async def parts(self, run: RunRecord, after: PartId | None = None) -> list[StreamPart]:
        """The run's whole stream behind `after`."""
        async with asyncio.timeout(WAIT_SECONDS):
            return [part async for part in self.manager.stream(run.run_id, after=after)]

    async def first(self, run: RunRecord, mode: str) -> StreamPart:
        """Wait until the run's stream shows a part of this mode."""
        async with asyncio.timeout(WAIT_SECONDS):
            async for part in self.manager.stream(run.run_id):
                if part.mode == mode:
                    return part
        raise AssertionError(f"no part of mode {mode}")

    async def texts(self, thread_id: str = "t") -> list[str]:
        """What the thread's messages say."""
        state = await self.agent.get_state(thread_id)
        return [str(message.text) for message in state.values.get("messages", ())]


@asynccontextmanager
async def open_replica(
    database: Database,
    home: Path,
    config: AgentConfig,
    *,
    url: str | None,
    owner: str = "replica",
    from_owners: Collection[str] = (),
    clock: Clock = utc_now,
    channels: Mapping[str, Any] | None = None,
    transcriber: Any = None,
    listening_seconds: float = 60,
    **settings: Any,
) -> AsyncIterator[Replica]:
    """A replica that runs until the block ends."""
    runs = RunsConfig(**{"drain_seconds": 0, **settings})
    async with AgentRuntime.open(config, home=home, database_url=url) as agent:
        replica = Replica(
            database,
            agent,
            runs,
            owner=owner,
            clock=clock,
            channels=channels or {},
            transcriber=transcriber,
            listening_seconds=listening_seconds,
        )
        await replica.start(from_owners)
        try:
            yield replica
        finally:
            await replica.stop()


def streamed_text(parts: list[StreamPart]) -> str:
    """The text that came in pieces."""
    chunks: list[Mapping[str, Any]] = [part.data[0] for part in parts if part.mode == "messages"]
    return "".join(str(chunk["content"]) for chunk in chunks if chunk["type"] == "AIMessageChunk")
