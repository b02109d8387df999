"""A place on a platform and the thread it talks to."""

import uuid
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from bridge.persistence import conversations, threads
from bridge.persistence.conversations import ConversationRecord
from channels.contract import InboundEvent


def of_event(connection: Connection, event: InboundEvent, *, now: datetime) -> ConversationRecord:
    """The conversation the event belongs to, made if need be; locked until the transaction ends."""
    return conversations.ensure(connection, event.conversation, event.chat_kind, event.sender.id, now=now)


def with_thread(connection: Connection, conversation: ConversationRecord, assistant_id: str, *, now: datetime) -> str:
    """The conversation's thread, locked; a new one if it has none yet or the old one was deleted."""
    if conversation.thread_id and threads.find(connection, conversation.thread_id, lock=True):
        return conversation.thread_id
    return begin_thread(connection, conversation, assistant_id, now=now)


def begin_thread(connection: Connection, conversation: ConversationRecord, assistant_id: str, *, now: datetime) -> str:
    """Point the conversation at a new thread; the old one is kept."""
    thread_id = str(uuid.uuid4())
    threads.insert(
        connection,
        thread_id,
        assistant_id=assistant_id,
        user_id=f"{conversation.key.channel}:{conversation.person_id}",
        now=now,
        metadata={"conversation": str(conversation.key)},
    )
    conversations.point_at(connection, conversation.key, thread_id, now=now)
    return thread_id


def pointed_at(conversation: ConversationRecord, thread_id: str) -> ConversationRecord:
    """The record as it stands after `begin_thread`."""
    return replace(conversation, thread_id=thread_id)
