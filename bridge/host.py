"""The house as the channels see it."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from bridge import conversation_threads, moved_chats
from bridge.clock import Clock
from bridge.dispatch.commands import COMMANDS
from bridge.errors import NotFound
from bridge.files.artifacts import Artifacts
from bridge.files.uploads import Uploads
from bridge.inbox.intake import Intake
from bridge.persistence import clarifications, conversations, deliveries, feedback, runs, threads, transcript
from bridge.persistence.database import Database
from bridge.signals import Signals
from bridge.sole_tasks import SoleTasks
from channels.contract import (
    Accepted,
    ChatKind,
    Clarification,
    CommandInfo,
    ConversationKey,
    ConversationSummary,
    FileRef,
    InboundEvent,
    OpenedFile,
    Sender,
    ShownAnswer,
    TranscriptEntry,
)

logger = logging.getLogger(__name__)


class House:
    """`ChannelHost`, over the database and the thread's files."""

    def __init__(
        self,
        database: Database,
        intake: Intake,
        uploads: Uploads,
        artifacts: Artifacts,
        sole_tasks: SoleTasks,
        signals: Signals,
        assistant_id: str,
        clock: Clock,
    ) -> None:
        self._database = database
        self._intake = intake
        self._sole_tasks = sole_tasks
        self._signals = signals
        self._uploads = uploads
        self._artifacts = artifacts
        self._assistant_id = assistant_id
        self._clock = clock

    @property
    def commands(self) -> Sequence[CommandInfo]:
        """See `ChannelHost.commands`."""
        shown = [command for command in COMMANDS.values() if command.is_shown]
        return [CommandInfo(command.name, command.summary, command.for_admins) for command in shown]

    async def submit(self, event: InboundEvent) -> Accepted:
        """See `ChannelHost.submit`."""
        return await self._intake.submit(event)

    async def may_speak(self, conversation: ConversationKey, sender: Sender) -> bool:
        """See `ChannelHost.may_speak`."""
        return await self._intake.may_speak(conversation, sender)

    async def chat_moved(self, old: ConversationKey, new_chat: str) -> None:
        """See `ChannelHost.chat_moved`."""
        now = self._clock()
        await self._database.write(lambda connection: moved_chats.move(connection, old, new_chat, now=now))
        logger.info("the chat of %s goes on as %s", old, new_chat)
        self._signals.notify("inbox")
        self._signals.notify("deliveries")

    async def run_alone(self, task: str, work: Callable[[], Awaitable[None]]) -> None:
        """See `ChannelHost.run_alone`."""
        await self._sole_tasks.run(task, work)

    async def clarification(self, token: str) -> Clarification | None:
        """See `ChannelHost.clarification`."""
        record = await self._database.read(lambda connection: clarifications.find(connection, token))
        return record.clarification if record else None

    async def answer_at(self, chat: ConversationKey, message_id: str) -> ShownAnswer | None:
        """See `ChannelHost.answer_at`."""

        def read(connection: Connection) -> ShownAnswer | None:
            found = deliveries.shown_at(connection, chat, message_id)
            reply = transcript.reply_of(connection, found[1]) if found else None
            return ShownAnswer(*found) if found and reply and reply.can_rate else None

        return await self._database.read(read)

    async def conversations(self, channel: str, account: str, user_id: str) -> Sequence[ConversationSummary]:
        """See `ChannelHost.conversations`."""

        def summaries(connection: Connection) -> Sequence[ConversationSummary]:
            records = conversations.of_person(connection, channel, account, user_id)
            return [_summary(connection, record.key, record.thread_id, record.updated_at) for record in records]

        return await self._database.read(summaries)

    async def open_conversation(self, key: ConversationKey, chat_kind: ChatKind, user_id: str) -> None:
        """See `ChannelHost.open_conversation`."""
        now = self._clock()

        def ensure(connection: Connection) -> None:
            record = conversations.ensure(connection, key, chat_kind, user_id, now=now)
            conversation_threads.with_thread(connection, record, self._assistant_id, now=now)

        await self._database.write(ensure)

    async def transcript(self, conversation: ConversationKey, after: int = 0) -> Sequence[TranscriptEntry]:
        """See `ChannelHost.transcript`."""

        def read(connection: Connection) -> Sequence[TranscriptEntry]:
            record = conversations.find(connection, conversation)
            if record is None or record.thread_id is None:
                return ()
            return transcript.entries(connection, record.thread_id, after=after)

        return await self._database.read(read)

    async def ratings(self, conversation: ConversationKey, user_id: str) -> Mapping[str, int]:
        """See `ChannelHost.ratings`."""

        def read(connection: Connection) -> Mapping[str, int]:
            record = conversations.find(connection, conversation)
            if record is None or record.thread_id is None:
                return {}
            return feedback.ratings(connection, record.thread_id, f"{conversation.channel}:{user_id}")

        return await self._database.read(read)

    async def save_upload(self, conversation: ConversationKey, name: str, chunks: AsyncIterator[bytes]) -> FileRef:
        """See `ChannelHost.save_upload`."""
        upload = await self._uploads.save(await self._thread(conversation), name, chunks)
        return FileRef(ref=upload.path, name=upload.name, size_bytes=upload.size_bytes)

    async def open_artifact(self, conversation: ConversationKey, path: str) -> OpenedFile:
        """See `ChannelHost.open_artifact`."""
        return await self._artifacts.open(await self._thread(conversation), path)

    async def _thread(self, conversation: ConversationKey) -> str:
        record = await self._database.read(lambda connection: conversations.find(connection, conversation))
        if record is None or record.thread_id is None:
            raise NotFound(f"there is no conversation {conversation}")
        return record.thread_id


def _summary(
    connection: Connection, key: ConversationKey, thread_id: str | None, updated_at: datetime
) -> ConversationSummary:
    thread = threads.find(connection, thread_id) if thread_id else None
    is_running = bool(thread_id and runs.open_on(connection, thread_id))
    return ConversationSummary(key, (thread.title if thread else None) or "", updated_at, is_running)
