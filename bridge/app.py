"""The composition root: builds everything, starts it in order, stops it in reverse."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent import AgentRuntime
from bridge.clock import utc_now
from bridge.config import Config
from bridge.delivery.deliverer import Deliverer
from bridge.delivery.delivery import DeliveryResources
from bridge.delivery.pacing import UpdatePacer
from bridge.dispatch.dispatcher import Dispatcher, Rules
from bridge.dispatch.expiry import QuestionExpiry
from bridge.files.artifacts import Artifacts
from bridge.files.uploads import Uploads
from bridge.gateway.server import Gateway
from bridge.home import prepare_home
from bridge.home_lock import HomeLock
from bridge.host import House
from bridge.inbox.intake import Intake
from bridge.inbox.signs import ReceiptSigns
from bridge.inbox.worker import InboxWorker
from bridge.persistence.database import Database, open_database
from bridge.persistence.schema import bootstrap_schema
from bridge.runs.active import RunResources
from bridge.runs.executor import Executor
from bridge.runs.manager import RunManager
from bridge.runs.queue import EmbeddedRunQueue
from bridge.runs.retention import Retention
from bridge.runs.stream import StreamHub
from bridge.runs.stubborn import StubbornGraphs
from bridge.runs.turn_input import TurnInput
from bridge.runs.voices import Voices
from bridge.signals import Signals
from bridge.sole_tasks import SoleTasks
from bridge.threads import ThreadService
from bridge.transcription import Transcriber, build_transcriber
from channels.contract import Channel, ChannelHealth, ChannelSection, SupportsHttpRoutes, SupportsWebhooks
from channels.registry import PLUGINS

logger = logging.getLogger(__name__)

_LEAVE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Bridge:
    """The running house, for those who embed it and for tests."""

    config: Config
    database: Database
    agent: AgentRuntime
    manager: RunManager
    threads: ThreadService
    channels: Mapping[str, Channel]
    gateway: Gateway
    signals: Signals


async def run(config: Config) -> None:
    """Serve until SIGTERM or SIGINT; a second one does not wait for active runs."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    serving = asyncio.create_task(_serve(config, stopping), name="serving")

    def ask_to_stop() -> None:
        if stopping.is_set():
            serving.cancel()
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask_to_stop)
    try:
        await asyncio.wait({serving})
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    if not serving.cancelled():
        serving.result()
    await _leave_nothing_behind()


async def _serve(config: Config, stopping: asyncio.Event) -> None:
    async with open_bridge(config) as bridge:
        logger.info("ready: %s", bridge.gateway.url)
        await stopping.wait()
        logger.info("stopping")


async def _leave_nothing_behind() -> None:
    """End what goes on. All is stored and closed by now, but the event loop would wait for ever for a task that ignores its end."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest and (left := (await asyncio.wait(rest, timeout=_LEAVE_SECONDS))[1]):
        logger.error("left behind: %s", ", ".join(task.get_name() for task in left))
        logging.shutdown()
        os._exit(0)


@asynccontextmanager
async def open_bridge(config: Config) -> AsyncIterator[Bridge]:
    """Everything, started. What was left unfinished by an earlier process is gone on with at once."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
    async with AsyncExitStack() as stack:
        url = config.database.address
        await asyncio.to_thread(prepare_home, config.home)
        former: Sequence[str] = ()
        if url is None:
            lock = await asyncio.to_thread(HomeLock.take, config.home, owner)
            stack.callback(lock.release)
            former = lock.former
        database = await asyncio.to_thread(open_database, url, config.home)
        stack.push_async_callback(database.close)
        await bootstrap_schema(database.engine, backend=database.backend)
        agent = await stack.enter_async_context(AgentRuntime.open(config.agent, home=config.home, database_url=url))
        sections = config.channels.enabled()
        channels = await asyncio.to_thread(_build_channels, sections, config.home)
        transcriber = await asyncio.to_thread(build_transcriber, config.transcription)
        if transcriber is not None:
            stack.push_async_callback(transcriber.close)
        yield await _House(config, database, agent, sections, channels, transcriber, owner).start(stack, former)
        logger.info("no new messages are taken; what runs may finish its step")


class _House:
    """The parts and the order in which they start."""

    def __init__(
        self,
        config: Config,
        database: Database,
        agent: AgentRuntime,
        sections: Mapping[str, ChannelSection],
        channels: Mapping[str, Channel],
        transcriber: Transcriber | None,
        owner: str,
    ) -> None:
        clock, signals, uploads = utc_now, Signals(), Uploads(agent.paths, config.uploads)
        assistant_id = next(iter(agent.assistants))
        artifacts = Artifacts(agent.paths)
        self.config, self.channels = config, channels
        self.hub = StreamHub(database, signals)
        self.stubborn = StubbornGraphs()
        resources = RunResources(
            agent=agent,
            database=database,
            hub=self.hub,
            signals=signals,
            turn_input=TurnInput(uploads, channels, Voices(uploads, transcriber, config.transcription)),
            artifacts=artifacts,
            config=config.runs,
            clock=clock,
            stubborn=self.stubborn,
        )
        self.queue = EmbeddedRunQueue(database, Executor(resources), signals, config.runs, owner, clock)
        self.manager = RunManager(database, agent, self.queue, self.hub, signals, clock)
        self.threads = ThreadService(database, agent, clock)
        pacer = UpdatePacer({name: channel.capabilities for name, channel in channels.items()})
        resources_for_delivery = DeliveryResources(database, self.hub, signals, pacer, clock, owner)
        self.deliverer = Deliverer(channels, sections, resources_for_delivery, config.runs)
        rules = Rules(
            config.channels.all(),
            config.runs,
            config.inbox,
            assistant_id,
            agent.models,
            tuple(agent.assistants.values()),
        )
        self.inbox = InboxWorker(database, Dispatcher(database, rules, clock), channels, self.queue, signals, clock)
        self.signs = ReceiptSigns(channels, signals)
        intake = Intake(database, sections, self.signs, self.inbox.wake, signals, config.inbox, clock)
        self.sole_tasks = SoleTasks(database, config.runs, owner, clock)
        self.host = House(database, intake, uploads, artifacts, self.sole_tasks, signals, assistant_id, clock)
        self.retention = Retention(database, config.runs, signals, clock)
        self.expiry = QuestionExpiry(database, signals, config.runs, clock)
        doors = channels.values()
        self.gateway = Gateway(
            self.manager,
            self.threads,
            settings=config.gateway,
            health=self._health,
            channel_routes=[
                route for door in doors if isinstance(door, SupportsHttpRoutes) for route in door.http_routes()
            ],
            webhook_routes=[
                route for door in doors if isinstance(door, SupportsWebhooks) for route in door.webhook_routes()
            ],
        )
        self.bridge = Bridge(config, database, agent, self.manager, self.threads, channels, self.gateway, signals)

    async def start(self, stack: AsyncExitStack, former: Sequence[str]) -> Bridge:
        """Start from the inside out; the stack stops in reverse: doors first, then what decides, runs and delivers."""
        for channel in self.channels.values():
            stack.push_async_callback(channel.close)
        self.hub.start()
        stack.push_async_callback(self.hub.stop)
        self.retention.start()
        stack.push_async_callback(self.retention.stop)
        self.expiry.start()
        stack.push_async_callback(self.expiry.stop)
        self.deliverer.start(former)
        stack.push_async_callback(self.deliverer.stop, patience_seconds=self.config.runs.drain_seconds / 4)
        stack.push_async_callback(self.stubborn.stop)
        await self.queue.start(former)
        stack.push_async_callback(self.queue.stop)
        self.signs.start()
        stack.push_async_callback(self.signs.stop)
        self.inbox.start()
        stack.push_async_callback(self.inbox.stop)
        self.sole_tasks.start(former)
        stack.push_async_callback(self.sole_tasks.stop)
        stack.push_async_callback(self.gateway.stop)  # after the channels: their open streams would hold it up
        for channel in self.channels.values():
            stack.push_async_callback(channel.stop)
            await channel.start(self.host)
        await self.gateway.start()
        return self.bridge

    def _health(self) -> Mapping[str, ChannelHealth]:
        return {name: channel.health() for name, channel in self.channels.items()}


def _build_channels(sections: Mapping[str, ChannelSection], home: Path) -> Mapping[str, Channel]:
    channels = {}
    for name, section in sections.items():
        state_dir = home / "channels" / name
        prepare_home(state_dir)
        channels[name] = PLUGINS[name].build(section, state_dir=state_dir)
    return channels
