"""Which of the things people do in a chat are meant for the bot."""

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection

from bridge.conversation_settings import ConversationSettings
from bridge.persistence import conversations, inbox
from bridge.persistence.conversations import ConversationRecord
from bridge.persistence.database import Database
from channels.contract import (
    Addressed,
    ChannelSection,
    ChatKind,
    ConversationKey,
    InboundEvent,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Speaks,
)

_MOST_CONVERSATIONS = 1_000
_MOST_CHARS = 2_000  # of one message that is overheard


class Participation:
    """Passes on what is for the bot; of the rest it remembers the last few messages where it is told to, in memory only."""

    def __init__(self, database: Database, sections: Mapping[str, ChannelSection], overheard_messages: int) -> None:
        self._database = database
        self._sections = sections
        self._most_overheard = overheard_messages
        self._overheard: OrderedDict[ConversationKey, deque[str]] = OrderedDict()

    async def meant(self, event: InboundEvent) -> InboundEvent | None:
        """The event, with what was overheard before it; None if it is between other people."""
        if isinstance(event, MessageEdited | MessageDeleted):
            return event if await self._database.read(lambda connection: _is_known(connection, event)) else None
        if not isinstance(event, MessageReceived) or event.chat_kind is ChatKind.PRIVATE:
            return event
        if event.addressed is not Addressed.COMMAND and not await self._speaks(event):
            self._overhear(event)
            return None
        return replace(event, overheard=tuple(self._overheard.pop(event.conversation, ())))

    async def _speaks(self, event: MessageReceived) -> bool:
        key = event.conversation
        record = await self._database.read(lambda connection: conversations.find(connection, key))
        match self._policy(key, record):
            case Speaks.NEVER:
                return False
            case Speaks.ALWAYS:
                return True
            case _:
                takes_part = bool(key.topic) and record is not None and record.thread_id is not None
                return takes_part or event.addressed is not Addressed.AMBIENT

    def _policy(self, key: ConversationKey, record: ConversationRecord | None) -> Speaks:
        chosen = ConversationSettings.of(record.settings).speaks if record else None
        return chosen or self._sections[key.channel].speaks

    def _overhear(self, event: MessageReceived) -> None:
        if not self._most_overheard or not event.text:
            return
        lines = self._overheard.setdefault(event.conversation, deque(maxlen=self._most_overheard))
        lines.append(f"{event.sender.name or event.sender.id}: {event.text[:_MOST_CHARS]}")
        self._overheard.move_to_end(event.conversation)
        while len(self._overheard) > _MOST_CONVERSATIONS:
            self._overheard.popitem(last=False)


def _is_known(connection: Connection, event: MessageEdited | MessageDeleted) -> bool:
    return inbox.message(connection, event.conversation, event.message_id) is not None
