"""Decisions over both databases: events in, rows and effects out."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select

from agent import AssistantInfo
from agent.models import ModelInfo
from bridge.dispatch.decision import Effects
from bridge.dispatch.dispatcher import Dispatcher, NotYet, Rules
from bridge.inbox.config import InboxConfig
from bridge.persistence import clarifications, conversations, deliveries, inbox, runs, transcript
from bridge.persistence.clarifications import AskedBy, ClarificationRecord
from bridge.persistence.database import Database
from bridge.persistence.inbox import EventState, StoredEvent
from bridge.persistence.tables import deliveries as deliveries_table
from bridge.runs.config import RunsConfig
from bridge.runs.records import ModelUsage, RunRecord, RunStatus
from channels.contract import (
    BusyPolicy,
    ChannelSection,
    Clarification,
    ConversationKey,
    InboundEvent,
    Option,
    Reply,
    ReplyPart,
    ReplyPhase,
    Text,
    TranscriptEntry,
    reply_from_json,
)
from tests.bridge.conftest import StandingClock
from tests.bridge.people import CHAT


class Desk:
    """Where events are decided, and what came of it can be looked up."""

    def __init__(self, database: Database, clock: StandingClock) -> None:
        self.database = database
        self.clock = clock

    async def store(self, *events: InboundEvent, wait: float = 0) -> list[int]:
        """Let events arrive; they may be decided `wait` seconds later."""
        now, later = self.clock(), self.clock.advance(wait)
        self.clock.advance(-wait)
        return [
            await self.database.write(lambda c, e=event: inbox.insert(c, e, now=now, available_at=later))
            for event in events
        ]

    async def decide(self, *events: InboundEvent, busy: BusyPolicy = BusyPolicy.QUEUE, **settings: Any) -> Effects:
        """Let these events arrive and decide them all; the last decision's effects."""
        await self.store(*events)
        effects: Effects | NotYet | None = None
        while (decided := await self.next(busy=busy, **settings)) is not None:
            effects = decided
        assert isinstance(effects, Effects)
        return effects

    async def next(
        self,
        key: ConversationKey = CHAT,
        *,
        busy: BusyPolicy = BusyPolicy.QUEUE,
        admins: Sequence[str] = (),
        debounce: float = 0,
        ask_when_older: float = 0,
        models: Sequence[ModelInfo] = (),
        assistants: Sequence[AssistantInfo] = (),
        **settings: Any,
    ) -> Effects | NotYet | None:
        """Decide one thing."""
        rules = Rules(
            {"demo": ChannelSection(busy=busy, admins=tuple(admins))},
            RunsConfig(**settings),
            InboxConfig(debounce_seconds=debounce, ask_when_older_than_seconds=ask_when_older),
            "lead",
            models,
            assistants,
        )
        return await Dispatcher(self.database, rules, self.clock).decide_next(key)

    async def event(self, event_id: int) -> StoredEvent:
        stored = await self.database.read(lambda c: inbox.find(c, event_id))
        assert stored is not None
        return stored

    async def thread(self, key: ConversationKey = CHAT) -> str:
        record = await self.database.read(lambda c: conversations.find(c, key))
        assert record is not None
        assert record.thread_id is not None
        return record.thread_id

    async def runs(self, thread_id: str | None = None) -> Sequence[RunRecord]:
        """The thread's runs, oldest first."""
        thread_id = thread_id or await self.thread()
        return (await self.database.read(lambda c: runs.of_thread(c, thread_id, limit=50)))[::-1]

    async def begin(self) -> RunRecord:
        """Let the next run that waits begin."""
        later = self.clock() + timedelta(hours=1)
        claimed = await self.database.write(
            lambda c: runs.claim_next(c, owner="me", now=self.clock(), lease_expires_at=later)
        )
        assert claimed is not None
        return claimed

    async def finish(
        self, run: RunRecord, answer: str = "answer", usage: Mapping[str, ModelUsage] | None = None
    ) -> None:
        """Let a run end with this answer, its models having taken so much."""

        def end(connection: Connection) -> None:
            assert runs.finish(connection, run, RunStatus.SUCCESS, now=self.clock(), usage=usage)
            reply = Reply((Text("a", answer),), ReplyPhase.FINAL, run.run_id)
            transcript.append_reply(connection, run.thread_id, run.run_id, reply, now=self.clock())

        await self.database.write(end)

    async def answers(self) -> list[str]:
        """What the house itself has said, oldest first."""
        t = deliveries_table
        query = select(t.c.body).where(t.c.body.is_not(None)).order_by(t.c.created_at, t.c.id)
        bodies = await self.database.read(lambda c: c.execute(query).scalars().all())
        return [part.markdown for body in bodies for part in reply_from_json(body).parts if isinstance(part, Text)]

    async def said(self, thread_id: str | None = None) -> Sequence[TranscriptEntry]:
        thread_id = thread_id or await self.thread()
        return await self.database.read(lambda c: transcript.entries(c, thread_id))

    async def ask(
        self, *options: str, of: str = "ann", by: AskedBy = AskedBy.QUESTION, token: str = "tok", **details: Any
    ) -> RunRecord:
        """Let a run end with a question; `details` are more of its fields."""
        if not any(run.status is RunStatus.PENDING for run in await self.runs()):
            raise AssertionError("begin a turn first")
        run = await self.begin()
        question = Clarification(
            token,
            "Which?",
            options=tuple(Option(label, f"value of {label}") for label in options),
            expires_at=self.clock.now.replace(hour=23),
            **details,
        )
        record = ClarificationRecord(question, run.run_id, f"call-{token}", run.thread_id, by, of)

        def end(connection: Connection) -> None:
            clarifications.ensure(connection, record, now=self.clock())
            runs.finish(connection, run, RunStatus.SUCCESS, now=self.clock())
            reply = Reply((question,), ReplyPhase.FINAL, run.run_id)
            transcript.append_reply(connection, run.thread_id, run.run_id, reply, now=self.clock())

        await self.database.write(end)
        return run

    async def question(self, token: str = "tok") -> Clarification:
        record = await self.database.read(lambda c: clarifications.find(c, token))
        assert record is not None
        return record.clarification

    async def state(self, event_id: int) -> EventState:
        return (await self.event(event_id)).state

    async def shown(self, run: RunRecord) -> Sequence[ReplyPart]:
        """The parts of a run's answer as the transcript has them now."""
        reply = await self.database.read(lambda c: transcript.reply_of(c, run.run_id))
        assert reply is not None
        return reply.parts

    async def take_deliveries(self) -> list[str]:
        """Claim what is owed, and say its ids."""
        claimed = await self.database.write(
            lambda c: deliveries.claim_due(
                c, owner="me", now=self.clock(), lease_expires_at=self.clock.now, limit=50, from_owners=["me"]
            )
        )
        return [record.id for record in claimed]


@pytest.fixture
def desk(database: Database, clock: StandingClock) -> Desk:
    return Desk(database, clock)
