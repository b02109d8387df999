"""An inbox in front of a scripted door."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bridge.clock import utc_now
from bridge.dispatch.dispatcher import Dispatcher, Rules
from bridge.inbox.config import InboxConfig
from bridge.inbox.intake import Intake
from bridge.inbox.signs import ReceiptSigns
from bridge.inbox.worker import InboxWorker
from bridge.persistence.database import Database
from bridge.runs.config import RunsConfig
from bridge.runs.records import CancelAction
from bridge.signals import Signals
from channels.contract import ChannelSection, ConversationKey, InboundEvent, PressVerdict, ReceiptSign


class Door:
    """A channel that shows signs and verdicts, and notes them."""

    name = "demo"

    def __init__(self) -> None:
        self.signs: asyncio.Queue[tuple[ConversationKey, str, ReceiptSign]] = asyncio.Queue()
        self.verdicts: asyncio.Queue[tuple[InboundEvent, PressVerdict]] = asyncio.Queue()
        self.failures: list[Exception] = []

    async def react(self, conversation: ConversationKey, message_id: str, sign: ReceiptSign) -> None:
        await self.signs.put((conversation, message_id, sign))
        if self.failures:
            raise self.failures.pop()

    async def answer_press(self, press: Any, verdict: PressVerdict) -> None:
        await self.verdicts.put((press, verdict))
        if self.failures:
            raise self.failures.pop()


class Queue:
    """Notes what the run queue is told."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[str | tuple[str, CancelAction]] = asyncio.Queue()

    def wake(self) -> None:
        self.told.put_nowait("wake")

    def interrupt(self, run_id: str, action: CancelAction) -> bool:
        self.told.put_nowait((run_id, action))
        return True


class Inbox:
    """Intake, signs and worker, wired as the house wires them."""

    def __init__(self, database: Database, config: InboxConfig, section: ChannelSection) -> None:
        self.database = database
        self.door, self.queue, self.signals = Door(), Queue(), Signals()
        doors, sections = {"demo": self.door}, {"demo": section}
        self.signs = ReceiptSigns(doors, self.signals)
        self.dispatcher = Dispatcher(database, Rules(sections, RunsConfig(), config, "lead"), utc_now)
        self.worker = InboxWorker(database, self.dispatcher, doors, self.queue, self.signals, utc_now)
        self.intake = Intake(database, sections, self.signs, self.worker.wake, self.signals, config, utc_now)

    def start(self) -> None:
        self.signs.start()
        self.worker.start()

    async def stop(self) -> None:
        await self.worker.stop()
        await self.signs.stop()

    async def told(self) -> str | tuple[str, CancelAction]:
        """What the run queue is told next."""
        async with asyncio.timeout(4):  # the worker looks by itself every five seconds: nothing may wait for that
            return await self.queue.told.get()


@pytest.fixture
async def house(database: Database) -> AsyncIterator[Inbox]:
    house = Inbox(database, InboxConfig(album_seconds=0.05), ChannelSection())
    yield house
    await house.stop()
