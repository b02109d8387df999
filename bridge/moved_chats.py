"""A chat that goes on under another id: its conversations keep their threads, and what is owed is shown there."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from bridge.persistence import conversations, deliveries, inbox
from channels.contract import ConversationKey


def move(connection: Connection, old: ConversationKey, new_chat: str, *, now: datetime) -> Collection[ConversationKey]:
    """Move every conversation of this chat, whatever its topic; gives their new keys. Doing it twice changes nothing more."""
    known = {*conversations.of_chat(connection, old), *inbox.open_of_chat(connection, old)}
    moved = {key: replace(key, chat=new_chat) for key in known}
    for key, goes_on_as in moved.items():
        conversations.rekey(connection, key, goes_on_as, now=now)
        inbox.rekey(connection, key, goes_on_as)
        deliveries.rekey(connection, key, goes_on_as, now=now)
    return moved.values()
