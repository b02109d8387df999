"""The rows of `transcript`: what was said, for people; appended, never summarised."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Connection, func, select, update

from bridge.persistence.tables import transcript as t
from channels.contract import Reply, TranscriptEntry, TranscriptFile, reply_from_json, reply_to_json


class EntryKind(StrEnum):
    """Who speaks."""

    PERSON = "person"
    REPLY = "reply"


@dataclass(frozen=True, slots=True)
class Said:
    """What a person said, ready to be written down."""

    text: str
    sender_name: str = ""
    message_id: str | None = None
    files: tuple[TranscriptFile, ...] = ()


def append_person(connection: Connection, thread_id: str, run_id: str, said: Said, *, now: datetime) -> int:
    """Write down what a person said. The thread's row must be locked by this transaction."""
    body = {
        "text": said.text,
        "sender_name": said.sender_name,
        "message_id": said.message_id,
        "files": _files_body(said.files),
    }
    return _append(connection, thread_id, run_id, EntryKind.PERSON, body, now)


def set_files(connection: Connection, run_id: str, message_id: str, files: Sequence[TranscriptFile]) -> None:
    """The files of one message of the turn have come."""
    query = select(t.c.thread_id, t.c.seq, t.c.body).where(t.c.run_id == run_id, t.c.kind == EntryKind.PERSON)
    for row in connection.execute(query).all():
        if row.body["message_id"] == message_id:
            body = {**row.body, "files": _files_body(files)}
            connection.execute(update(t).where(t.c.thread_id == row.thread_id, t.c.seq == row.seq).values(body=body))


def append_reply(connection: Connection, thread_id: str, run_id: str, reply: Reply, *, now: datetime) -> int:
    """Write down a whole answer, a run's or the house's own. The thread's row must be locked by this transaction."""
    return _append(connection, thread_id, run_id, EntryKind.REPLY, orjson.loads(reply_to_json(reply)), now)


def reply_of(connection: Connection, run_id: str) -> Reply | None:
    """The answer of a run, if it has ended."""
    body = connection.execute(
        select(t.c.body).where(t.c.run_id == run_id, t.c.kind == EntryKind.REPLY)
    ).scalar_one_or_none()
    return reply_from_json(orjson.dumps(body)) if body is not None else None


def replace_reply(connection: Connection, reply: Reply) -> None:
    """A question in the answer was settled: the answer shows it from now on."""
    mine = (t.c.run_id == reply.run_id) & (t.c.kind == EntryKind.REPLY)
    connection.execute(update(t).where(mine).values(body=orjson.loads(reply_to_json(reply))))


def entries(connection: Connection, thread_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[TranscriptEntry]:
    """What was said behind `after`, oldest first."""
    query = select(t).where(t.c.thread_id == thread_id, t.c.seq > after).order_by(t.c.seq).limit(limit)
    return [_entry(row) for row in connection.execute(query)]


def _files_body(files: Sequence[TranscriptFile]) -> list[list[str | int]]:
    return [[file.path, file.name, file.size_bytes] for file in files]


def _append(connection: Connection, thread_id: str, run_id: str, kind: EntryKind, body: Any, now: datetime) -> int:
    last = connection.execute(select(func.max(t.c.seq)).where(t.c.thread_id == thread_id)).scalar_one()
    seq = (last or 0) + 1
    connection.execute(
        t.insert().values(thread_id=thread_id, seq=seq, run_id=run_id, kind=kind, body=body, created_at=now)
    )
    return seq


def _entry(row: Any) -> TranscriptEntry:
    if row.kind == EntryKind.REPLY:
        return TranscriptEntry(row.seq, row.run_id, row.created_at, reply=reply_from_json(orjson.dumps(row.body)))
    return TranscriptEntry(
        seq=row.seq,
        run_id=row.run_id,
        created_at=row.created_at,
        text=row.body["text"],
        sender_name=row.body["sender_name"],
        message_id=row.body["message_id"],
        files=tuple(TranscriptFile(*file) for file in row.body["files"]),
    )
