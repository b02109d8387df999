"""A deliverer in front of a scripted door, and runs that say what a test lets them say."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, update

from bridge.clock import utc_now
from bridge.delivery.deliverer import Deliverer
from bridge.delivery.delivery import DeliveryResources
from bridge.delivery.pacing import UpdatePacer
from bridge.persistence import deliveries, runs, threads, transcript
from bridge.persistence.database import Database
from bridge.persistence.deliveries import DeliveryState, NewDelivery
from bridge.persistence.tables import deliveries as deliveries_table
from bridge.runs.config import RunsConfig
from bridge.runs.records import NewRun, RunRecord, RunStatus
from bridge.runs.stream import LiveStream, StreamHub
from bridge.signals import Signals
from channels.contract import (
    ChannelCapabilities,
    ChannelSection,
    ChatKind,
    DeliveryReceipt,
    DeliveryTarget,
    Piece,
    PieceState,
    Reply,
    Text,
    TextUnit,
)
from tests.bridge.people import CHAT


@dataclass
class Door:
    """A channel with one message a reply; fails as it is told, in turn."""

    streams: bool = True
    name: str = "demo"
    failures: list[Exception | None] = field(default_factory=list)
    shown: list[Reply] = field(default_factory=list)
    receipts: list[DeliveryReceipt] = field(default_factory=list)
    targets: list[DeliveryTarget] = field(default_factory=list)
    posted: list[str] = field(default_factory=list)
    after_post: Callable[[], Any] = lambda: None
    active: int = 0

    @property
    def capabilities(self) -> ChannelCapabilities:
        return ChannelCapabilities(4096, TextUnit.UTF16, 0, 0, streams=self.streams, activity_refresh_seconds=0.01)

    async def deliver(self, target: DeliveryTarget, reply: Reply, receipt: DeliveryReceipt) -> DeliveryReceipt:
        target.permit()
        self.targets.append(target)
        self.receipts.append(receipt)
        if self.failures and (failure := self.failures.pop(0)) is not None:
            raise failure
        piece = receipt.piece("message")
        if piece is None or piece.message_id is None:
            receipt = receipt.with_piece(Piece("message", PieceState.ATTEMPTING))
            await target.record(receipt)
            self.posted.append(f"m-{len(self.posted) + 1}")
            self.after_post()
            piece = Piece("message", PieceState.SENT, self.posted[-1])
            await target.record(receipt.with_piece(piece))
        self.shown.append(reply)
        return receipt.with_piece(piece)

    async def show_activity(self, target: DeliveryTarget) -> None:
        self.active += 1

    def texts(self) -> list[str]:
        """The text of each snapshot that came through."""
        return ["".join(part.markdown for part in reply.parts if isinstance(part, Text)) for reply in self.shown]


class Post:
    """A deliverer and what it works for."""

    def __init__(self, database: Database, door: Door, section: ChannelSection, owner: str, signals: Signals) -> None:
        self.database, self.door, self.signals = database, door, signals
        self.hub = StreamHub(database, self.signals)
        pacer = UpdatePacer({"demo": door.capabilities})
        resources = DeliveryResources(database, self.hub, self.signals, pacer, utc_now, owner)
        self.deliverer = Deliverer({"demo": door}, {"demo": section}, resources, RunsConfig())

    async def owe(self, name: str = "d", **details: Any) -> None:
        new = NewDelivery(name, details.pop("key", CHAT), ChatKind.PRIVATE, **details)
        await self.database.write(lambda c: deliveries.insert(c, new, now=utc_now()))
        self.signals.notify("deliveries")

    async def begin(self, *, claim: bool = True) -> tuple[RunRecord, LiveStream | None]:
        """A run whose answer is owed; it runs, unless it is only to wait."""

        def store(connection: Connection) -> RunRecord:
            threads.insert(connection, "t", assistant_id="lead", user_id="ann", now=utc_now())
            count = len(runs.of_thread(connection, "t", limit=99))
            runs.insert(connection, f"run-{count}", NewRun("t"), now=utc_now())
            later = utc_now() + timedelta(hours=1)
            taken = runs.claim_next(connection, owner="me", now=utc_now(), lease_expires_at=later) if claim else None
            run = taken or runs.find(connection, f"run-{count}")
            assert run is not None
            return run

        run = await self.database.write(store)
        await self.owe(run.run_id, run_id=run.run_id)
        return run, self.hub.open(run) if claim else None

    def say(self, stream: LiveStream, text: str, message_id: str = "a") -> None:
        """A whole message of the agent."""
        message = {"type": "ai", "id": message_id, "content": text}
        stream.emit("updates", (), {"model": {"messages": [message]}})

    async def end(self, run: RunRecord, stream: LiveStream, reply: Reply) -> None:
        """The run ends, and this is its answer as it is written down."""
        stream.emit("house", (), {"type": "ended", "failure": None, "stopped": False})

        def commit(connection: Connection) -> None:
            runs.finish(connection, run, RunStatus.SUCCESS, now=utc_now())
            transcript.append_reply(connection, run.thread_id, run.run_id, reply, now=utc_now())

        await self.database.write(commit)
        stream.close(stream.number("end", (), b"null"))
        self.signals.notify(f"thread:{run.thread_id}")

    async def state(self, name: str = "d") -> str:
        t = deliveries_table
        return await self.database.read(lambda c: c.execute(t.select().where(t.c.id == name)).one().state)

    async def settled(self, name: str = "d", state: DeliveryState = DeliveryState.SENT) -> None:
        """Wait until the delivery stands so."""
        async with asyncio.timeout(4):
            while await self.state(name) != state:  # noqa: ASYNC110  rows have no event
                await asyncio.sleep(0.01)

    async def due(self) -> None:
        """Let what was put off be due at once."""
        t = deliveries_table
        await self.database.write(lambda c: c.execute(update(t).values(available_at=utc_now() - timedelta(1))))
        self.signals.notify("deliveries")

    async def posted(self, name: str) -> None:
        """Wait until the message stands and its id is stored."""
        async with asyncio.timeout(4):
            while True:
                receipt = await self.database.read(lambda c: deliveries.receipt_of(c, name))
                if any(piece.message_id for piece in receipt.pieces):
                    return
                await asyncio.sleep(0.005)

    async def put_off(self, name: str = "d") -> Any:
        """Wait until the delivery was put off, and give its row."""
        t = deliveries_table
        async with asyncio.timeout(4):
            while True:
                row = await self.database.read(lambda c: c.execute(t.select().where(t.c.id == name)).one())
                if row.owner is None and row.attempts:
                    return row
                await asyncio.sleep(0.01)


StartPost = Callable[..., Post]


@pytest.fixture
async def start(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StartPost]:
    """Starts deliverers; between two tries they do not wait."""
    monkeypatch.setattr(random, "uniform", lambda _low, _high: 0.0)
    started: list[Post] = []

    def start(
        door: Door | None = None, owner: str = "me", dead: tuple[str, ...] = (), *, streaming: bool = True
    ) -> Post:
        signals = started[-1].signals if started else Signals()
        post = Post(database, door or Door(), ChannelSection(streaming=streaming), owner, signals)
        post.deliverer.start(dead)
        started.append(post)
        return post

    yield start
    for post in started:
        await post.deliverer.stop(patience_seconds=0)


@pytest.fixture
async def post(start: StartPost) -> Post:
    return start()
