"""A house of memory and a scripted agent: enough of the bridge to open the page's door."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar
from uuid import uuid4

from aiohttp import web
from aiohttp.test_utils import TestServer

from channels.contract import (
    Accepted,
    ChatKind,
    ChoiceSelected,
    Clarification,
    ClarificationState,
    CommandInfo,
    ConversationKey,
    ConversationSummary,
    DeliveryReceipt,
    DeliveryTarget,
    FeedbackGiven,
    FileRef,
    InboundEvent,
    MessageReceived,
    OpenedFile,
    Outcome,
    Reply,
    ReplyPart,
    ReplyPhase,
    ShownAnswer,
    StopRequested,
    TranscriptEntry,
    TranscriptFile,
)
from channels.web.adapter import WebChannel
from channels.web.config import WebConfig

_log = logging.getLogger(__name__)
UPLOADS = PurePosixPath("/mnt/user-data/uploads")
OUTPUTS = PurePosixPath("/mnt/user-data/outputs")
MIME_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".html": "text/html", ".csv": "text/csv"}


class HouseError(Exception):
    """What the house refuses, with the status the gateway answers."""

    def __init__(self, status: int, user_message: str) -> None:
        super().__init__(user_message)
        self.status = status
        self.user_message = user_message


@web.middleware
async def error_table(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """As the gateway does: one place where errors of the house become answers."""
    try:
        return await handler(request)
    except HouseError as error:
        return web.json_response({"detail": error.user_message}, status=error.status)
    except web.HTTPException:
        raise
    except Exception:  # noqa: BLE001 - the edge of a request, as in the gateway
        _log.exception("%s %s failed", request.method, request.path)
        return web.json_response({"detail": "Something went wrong inside."}, status=500)


@dataclass
class MemoryHouse:
    """A ChannelHost that remembers everything. `agent` is started for every accepted event."""

    files: Path
    upload_limit_bytes: int = 1_000_000
    refuses: bool = False
    portion: int = 1_000
    failing: set[str] = field(default_factory=set)
    """What does not work just now: `open_conversation`, `conversations`, or the name of a file."""
    broken: Exception | None = None
    """What comes out of everything that may fail, when it is set."""
    slow: dict[str, asyncio.Event] = field(default_factory=dict)
    """What waits for its event: the same."""
    running: set[str] = field(default_factory=set)
    agent: "Callable[[Turn], Awaitable[None]] | None" = None
    events: list[InboundEvent] = field(default_factory=list)
    opened: dict[ConversationKey, ConversationSummary] = field(default_factory=dict)
    said: dict[ConversationKey, list[TranscriptEntry]] = field(default_factory=dict)
    questions: dict[str, Clarification] = field(default_factory=dict)
    channel: WebChannel | None = None
    _keys: set[str] = field(default_factory=set)
    _tasks: set[asyncio.Future[None]] = field(default_factory=set)
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    commands: ClassVar[Sequence[CommandInfo]] = (
        CommandInfo("help", "this list"),
        CommandInfo("pair", "let somebody in", for_admins=True),
    )

    async def submit(self, event: InboundEvent) -> Accepted:
        if self.refuses:
            return Accepted(Outcome.REFUSED)
        if event.dedupe_key in self._keys:
            return Accepted(Outcome.DUPLICATE)
        self._keys.add(event.dedupe_key)
        async with self._arrived:
            self.events.append(event)
            self._arrived.notify_all()
        turn = Turn(self, event, run_id=str(uuid4()))
        if isinstance(event, MessageReceived):
            self._note_message(event, turn.run_id)
        if self.agent is not None:
            self._tasks.add(asyncio.ensure_future(self.agent(turn)))
        return Accepted(Outcome.ACCEPTED, len(self.events))

    async def wait_for(self, wanted: Callable[[InboundEvent], bool]) -> InboundEvent:
        """The first event that is wanted, now or as soon as it arrives."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: any(wanted(event) for event in self.events))
        return next(event for event in self.events if wanted(event))

    async def end(self) -> None:
        """End what the agent still does; raises what went wrong in it."""
        for task in self._tasks:
            task.cancel()
        for outcome in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def clarification(self, token: str) -> Clarification | None:
        return self.questions.get(token)

    async def answer_at(self, chat: ConversationKey, message_id: str) -> ShownAnswer | None:
        return None

    async def conversations(self, channel: str, account: str, user_id: str) -> Sequence[ConversationSummary]:
        await self._work("conversations")
        mine = [
            replace(summary, is_running=key.chat in self.running)
            for key, summary in self.opened.items()
            if (key.channel, key.account) == (channel, account)
        ]
        return sorted(mine, key=lambda summary: summary.updated_at, reverse=True)

    async def open_conversation(self, key: ConversationKey, chat_kind: ChatKind, user_id: str) -> None:
        await self._work("open_conversation")
        self.opened.setdefault(key, ConversationSummary(key, "", datetime.now(UTC), is_running=False))

    async def transcript(self, conversation: ConversationKey, after: int = 0) -> Sequence[TranscriptEntry]:
        return [entry for entry in self.said.get(conversation, []) if entry.seq > after][: self.portion]

    async def ratings(self, conversation: ConversationKey, user_id: str) -> Mapping[str, int]:
        given = [event for event in self.events if isinstance(event, FeedbackGiven)]
        return {event.run_id: event.rating for event in given if event.conversation == conversation}

    async def save_upload(self, conversation: ConversationKey, name: str, chunks: AsyncIterator[bytes]) -> FileRef:
        if PurePosixPath(name).name != name or name in {"", ".", ".."}:
            raise HouseError(400, "That is not a file name.")
        content = b""
        async for chunk in chunks:
            content += chunk
            if len(content) > self.upload_limit_bytes:
                raise HouseError(413, f"{name} is too large.")
        await self._work(name)
        path = UPLOADS / name
        self.put_file(conversation, path, content)
        return FileRef(str(path), name, None, len(content))

    async def open_artifact(self, conversation: ConversationKey, path: str) -> OpenedFile:
        if not path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise HouseError(404, "There is no such file.")
        real = self._real(conversation, PurePosixPath(path))
        if not real.is_file():
            raise HouseError(404, "There is no such file.")
        mime_type = MIME_TYPES.get(real.suffix, "text/plain")
        return OpenedFile(real, real.name, mime_type, real.stat().st_size)

    async def _work(self, what: str) -> None:
        if what in self.slow:
            await self.slow[what].wait()
        if self.broken is not None:
            raise self.broken
        if what in self.failing:
            raise HouseError(503, "The bridge is busy. Try again in a moment.")

    def put_file(self, conversation: ConversationKey, path: PurePosixPath, content: bytes) -> None:
        real = self._real(conversation, path)
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_bytes(content)

    def note_reply(self, conversation: ConversationKey, run_id: str, reply: Reply) -> None:
        """An answer that is given again, as after a press, takes the place of the first."""
        entries = self.said.setdefault(conversation, [])
        known = next((entry for entry in entries if entry.run_id == run_id and entry.reply is not None), None)
        if known is not None:
            entries[known.seq - 1] = replace(known, reply=reply)
        else:
            entries.append(TranscriptEntry(len(entries) + 1, run_id, datetime.now(UTC), reply=reply))
        self._name(conversation)

    def _name(self, conversation: ConversationKey) -> None:
        """As the agent does: when the first turn has ended, and not after the name of a file."""
        first = next((entry for entry in self.said[conversation] if entry.reply is None), None)
        summary = self.opened[conversation]
        if first is not None and not summary.title:
            self.opened[conversation] = replace(summary, title=first.text[:60] or "New conversation")

    def _note_message(self, event: MessageReceived, run_id: str) -> None:
        entries = self.said.setdefault(event.conversation, [])
        files = tuple(TranscriptFile(file.ref, file.name, file.size_bytes or 0) for file in event.files)
        entries.append(
            TranscriptEntry(
                len(entries) + 1, run_id, event.occurred_at, event.text, message_id=event.message_id, files=files
            )
        )
        self.opened[event.conversation] = replace(self.opened[event.conversation], updated_at=event.occurred_at)

    def _real(self, conversation: ConversationKey, path: PurePosixPath) -> Path:
        return self.files / conversation.chat / path.relative_to("/")


@dataclass
class Turn:
    """One event and what the scripted agent says to it, as snapshots delivered to the page."""

    house: MemoryHouse
    event: InboundEvent
    run_id: str
    parts: tuple[ReplyPart, ...] = ()

    @property
    def text(self) -> str:
        return self.event.text if isinstance(self.event, MessageReceived) else ""

    async def show(self, *parts: ReplyPart, phase: ReplyPhase = ReplyPhase.WORKING) -> None:
        self.parts = parts
        reply = Reply(parts, phase, self.run_id)
        self.house.running.add(self.event.conversation.chat)
        if phase is ReplyPhase.FINAL:
            self.house.running.discard(self.event.conversation.chat)
            self.house.note_reply(self.event.conversation, self.run_id, reply)
        await deliver(self.house, self.event.conversation, reply, self.run_id, self._reply_to())

    async def finish(self, *parts: ReplyPart) -> None:
        await self.show(*(parts or self.parts), phase=ReplyPhase.FINAL)

    @property
    def is_stopped(self) -> bool:
        """Whether the person pressed stop for this run."""
        return any(isinstance(event, StopRequested) and event.run_id == self.run_id for event in self.house.events)

    def ask(self, question: Clarification) -> Clarification:
        self.house.questions[question.token] = question
        return question

    async def answered(self, token: str) -> Clarification:
        """Wait for the press, and give the question as it stands after it."""
        press = await self.house.wait_for(lambda event: isinstance(event, ChoiceSelected) and event.token == token)
        assert isinstance(press, ChoiceSelected)
        return self._close(self.house.questions[token], press)

    def _close(self, question: Clarification, press: ChoiceSelected) -> Clarification:
        chosen = question.options[press.option].label if press.option is not None else ", ".join(press.values.values())
        closed = replace(question, state=ClarificationState.ANSWERED, answer=chosen, answered_by=press.sender.id)
        self.house.questions[question.token] = closed
        return closed

    def _reply_to(self) -> str | None:
        return self.event.message_id if isinstance(self.event, MessageReceived) else None


async def deliver(
    house: MemoryHouse, conversation: ConversationKey, reply: Reply, delivery_id: str, reply_to: str | None = None
) -> DeliveryReceipt:
    async def record(_: DeliveryReceipt) -> None:
        return None

    target = DeliveryTarget(delivery_id, conversation, ChatKind.PRIVATE, lambda: None, record, reply_to)
    assert house.channel is not None
    return await house.channel.deliver(target, reply, DeliveryReceipt())


class _GatewayLike(TestServer):
    """Lets a handler go on when its reader has left, as the gateway does."""

    async def _make_runner(self, **options: Any) -> web.BaseRunner:
        return await super()._make_runner(**{**options, "handler_cancellation": False})


async def open_house(
    house: MemoryHouse, state_dir: Path, port: int | None = None, channel: WebChannel | None = None
) -> TestServer:
    """The page on a real server; with the same `state_dir` and port it is the same bridge, started again."""
    channel = channel or WebChannel(WebConfig(), state_dir=state_dir)
    house.channel = channel
    app = web.Application(middlewares=[error_table])
    app.add_routes(channel.http_routes())

    async def end(_: web.Application) -> None:
        await channel.stop()

    app.on_shutdown.append(end)
    server = _GatewayLike(app, port=port or 0)
    await channel.start(house)
    await server.start_server()
    return server
