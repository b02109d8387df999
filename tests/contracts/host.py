"""A house in memory for the tests of channels: takes events, drops doubles, opens files."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from channels.contract import (
    Accepted,
    Addressed,
    ChatKind,
    Clarification,
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
    Sender,
    ShownAnswer,
    TranscriptEntry,
)

_WAIT_SECONDS = 10.0


class HouseRefused(Exception):
    """What the house raises for something a person can mend."""

    def __init__(self, user_message: str) -> None:
        super().__init__(user_message)
        self.user_message = user_message


@dataclass
class MemoryHost:
    """Everything that was submitted, in order; `refuse` is raised once by the next `submit`, which then keeps nothing.

    With `refuse_ambient` it takes only what is addressed to the bot, as a house does in a group.
    """

    events: list[InboundEvent] = field(default_factory=list)
    files: dict[str, OpenedFile] = field(default_factory=dict)
    questions: dict[str, Clarification] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    summaries: dict[ConversationKey, ConversationSummary] = field(default_factory=dict)
    entries: dict[ConversationKey, list[TranscriptEntry]] = field(default_factory=dict)
    refuse: Exception | None = None
    refuse_ambient: bool = False
    outcome: Outcome = Outcome.ACCEPTED
    strangers: set[str] = field(default_factory=set)
    moves: list[tuple[ConversationKey, str]] = field(default_factory=list)
    answers: dict[tuple[ConversationKey, str], ShownAnswer] = field(default_factory=dict)
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    commands: ClassVar[Sequence[CommandInfo]] = (
        CommandInfo("help", "this list"),
        CommandInfo("pair", "let somebody in", for_admins=True),
    )

    async def submit(self, event: InboundEvent) -> Accepted:
        if self.refuse is not None:
            error, self.refuse = self.refuse, None
            raise error
        if self.refuse_ambient and isinstance(event, MessageReceived) and event.addressed is Addressed.AMBIENT:
            return Accepted(Outcome.REFUSED)
        key = (event.conversation.channel, event.dedupe_key)
        if key in self._seen:
            return Accepted(Outcome.DUPLICATE)
        self._seen.add(key)
        async with self._changed:
            self.events.append(event)
            self._changed.notify_all()
        return Accepted(self.outcome, len(self.events))

    async def may_speak(self, conversation: ConversationKey, sender: Sender) -> bool:
        return sender.id not in self.strangers

    async def chat_moved(self, old: ConversationKey, new_chat: str) -> None:
        self.moves.append((old, new_chat))

    async def run_alone(self, task: str, work: Callable[[], Awaitable[None]]) -> None:
        await work()

    async def clarification(self, token: str) -> Clarification | None:
        return self.questions.get(token)

    async def answer_at(self, chat: ConversationKey, message_id: str) -> ShownAnswer | None:
        return self.answers.get((chat, message_id))

    async def conversations(self, channel: str, account: str, user_id: str) -> Sequence[ConversationSummary]:
        return list(self.summaries.values())

    async def open_conversation(self, key: ConversationKey, chat_kind: ChatKind, user_id: str) -> None:
        self.entries.setdefault(key, [])

    async def transcript(self, conversation: ConversationKey, after: int = 0) -> Sequence[TranscriptEntry]:
        return [entry for entry in self.entries.get(conversation, []) if entry.seq > after]

    async def ratings(self, conversation: ConversationKey, user_id: str) -> Mapping[str, int]:
        return {event.run_id: event.rating for event in self.events if isinstance(event, FeedbackGiven)}

    async def save_upload(self, conversation: ConversationKey, name: str, chunks: AsyncIterator[bytes]) -> FileRef:
        content = b"".join([chunk async for chunk in chunks])
        self.uploads[name] = content
        return FileRef(f"/mnt/user-data/uploads/{name}", name, size_bytes=len(content))

    async def open_artifact(self, conversation: ConversationKey, path: str) -> OpenedFile:
        if path not in self.files:
            raise HouseRefused("There is no such file.")
        return self.files[path]

    def put_file(self, path: str, content: bytes, mime_type: str, folder: Path) -> OpenedFile:
        """A file of the thread, really on the disk."""
        real = folder / Path(path).name
        real.write_bytes(content)
        self.files[path] = OpenedFile(real, real.name, mime_type, len(content))
        return self.files[path]

    async def wait_for(self, count: int) -> list[InboundEvent]:
        """The first `count` events, once there are so many; raises TimeoutError."""
        await self._until(lambda: len(self.events) >= count)
        return self.events[:count]

    async def wait_for_text(self, text: str) -> MessageReceived:
        """The first message with this text, once it is there; raises TimeoutError."""

        def found() -> MessageReceived | None:
            messages = (event for event in self.events if isinstance(event, MessageReceived))
            return next((event for event in messages if event.text == text), None)

        await self._until(lambda: found() is not None)
        event = found()
        assert event is not None
        return event

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(_WAIT_SECONDS), self._changed:
            await self._changed.wait_for(condition)


@dataclass
class Ledger:
    """What the house knows of one delivery: the last receipt, and how often it was asked for permission."""

    receipt: DeliveryReceipt = field(default_factory=DeliveryReceipt)
    history: list[DeliveryReceipt] = field(default_factory=list)
    permits: int = 0
    lease_lost: Exception | None = None

    def permit(self) -> None:
        self.permits += 1
        if self.lease_lost is not None:
            raise self.lease_lost

    async def record(self, receipt: DeliveryReceipt) -> None:
        self.receipt = receipt
        self.history.append(receipt)

    def target(self, delivery_id: str, event: Any, *, reply: bool = True) -> DeliveryTarget:
        """Where the answer to this event goes."""
        return DeliveryTarget(
            delivery_id=delivery_id,
            conversation=event.conversation,
            chat_kind=event.chat_kind,
            permit=self.permit,
            record=self.record,
            reply_to=getattr(event, "message_id", None) if reply else None,
        )
