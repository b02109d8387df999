"""A chat that goes on under another id: its conversations keep their threads, and what is owed is shown there."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from bridge.persistence import conversations, deliveries, inbox
from channels.contract import ConversationKey


def move(connection: Connection, old: ConversationKey, new_chat: str, *, now: datetime) -> None:
    """Move this conversation and every other of its chat, whatever its topic. Doing it twice changes nothing more."""
    known = {old, *conversations.of_chat(connection, old), *inbox.open_of_chat(connection, old)}
    for key in sorted(known, key=str):  # in one order, for other processes do the same
        goes_on_as = replace(key, chat=new_chat)
        conversations.rekey(connection, key, goes_on_as, now=now)
        inbox.rekey(connection, key, goes_on_as)
        deliveries.rekey(connection, key, goes_on_as, now=now)
