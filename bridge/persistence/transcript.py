"""The rows of `transcript`: what was said, for people; appended, never summarised."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, func, select, update

from bridge.persistence.tables import transcript as t
from bridge.persistence.unreadable import reason
from channels.contract import (
    Notice,
    NoticeKind,
    Reply,
    ReplyPhase,
    TranscriptEntry,
    TranscriptFile,
    reply_from_json,
    reply_to_json,
)

logger = logging.getLogger(__name__)


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
    _change(connection, run_id, message_id, "files", _files_body(files))


def set_text(connection: Connection, run_id: str, message_id: str, text: str) -> None:
    """One message of the turn was changed by the person."""
    _change(connection, run_id, message_id, "text", text)


def set_spoken(connection: Connection, run_id: str, message_id: str, text: str) -> None:
    """What was spoken in one message of the turn, in writing."""
    _change(connection, run_id, message_id, "spoken", text)


def _change(connection: Connection, run_id: str, message_id: str, name: str, value: Any) -> None:
    for row in connection.execute(_SAID_IN_RUN, {"run": run_id}).all():
        if row.body["message_id"] == message_id:
            connection.execute(_REWRITE, {"thread": row.thread_id, "at": row.seq, "body": {**row.body, name: value}})


def append_reply(connection: Connection, thread_id: str, run_id: str, reply: Reply, *, now: datetime) -> int:
    """Write down a whole answer, a run's or the house's own. The thread's row must be locked by this transaction."""
    return _append(connection, thread_id, run_id, EntryKind.REPLY, orjson.loads(reply_to_json(reply)), now)


def reply_of(connection: Connection, run_id: str) -> Reply | None:
    """The answer of a run, if it has ended."""
    body = connection.execute(_REPLY_OF_RUN, {"run": run_id}).scalar_one_or_none()
    return _reply(run_id, body) if body is not None else None


def replace_reply(connection: Connection, reply: Reply) -> None:
    """A question in the answer was settled: the answer shows it from now on."""
    connection.execute(_REPLACE_REPLY, {"run": reply.run_id, "body": orjson.loads(reply_to_json(reply))})


def entries(connection: Connection, thread_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[TranscriptEntry]:
    """What was said behind `after`, oldest first."""
    rows = connection.execute(_BEHIND, {"thread": thread_id, "at": after, "most": limit})
    return [_entry(row) for row in rows]


def _files_body(files: Sequence[TranscriptFile]) -> list[list[str | int]]:
    return [[file.path, file.name, file.size_bytes] for file in files]


def _append(connection: Connection, thread_id: str, run_id: str, kind: EntryKind, body: Any, now: datetime) -> int:
    values = {"thread_id": thread_id, "run_id": run_id, "kind": kind, "body": body, "created_at": now}
    return int(connection.execute(_APPEND, {"thread": thread_id, **values}).scalar_one())


def _reply(run_id: str, body: Any) -> Reply:
    """An answer this version cannot read is shown as one that cannot be shown: those around it can."""
    try:
        return reply_from_json(orjson.dumps(body))
    except ValueError as error:
        logger.warning("the answer of %s cannot be read: %s", run_id, reason(error))
        return Reply((Notice(NoticeKind.ERROR, "This answer can no longer be shown."),), ReplyPhase.FINAL, run_id)


def _entry(row: Any) -> TranscriptEntry:
    if row.kind == EntryKind.REPLY:
        return TranscriptEntry(row.seq, row.run_id, row.created_at, reply=_reply(row.run_id, row.body))
    return TranscriptEntry(
        seq=row.seq,
        run_id=row.run_id,
        created_at=row.created_at,
        text="\n\n".join(filter(None, (row.body["text"], _as_spoken(row.body.get("spoken", ""))))),
        sender_name=row.body["sender_name"],
        message_id=row.body["message_id"],
        files=tuple(TranscriptFile(*file) for file in row.body["files"]),
    )


def _as_spoken(text: str) -> str:
    return f"🎤 {text}" if text else ""


_of_thread = t.c.thread_id == bindparam("thread")
_of_run = t.c.run_id == bindparam("run")
_reply_of_run = _of_run & (t.c.kind == EntryKind.REPLY)

_NEXT = select(func.coalesce(func.max(t.c.seq), 0) + 1).where(_of_thread)
_APPEND = t.insert().values(seq=_NEXT.scalar_subquery()).returning(t.c.seq)
_SAID_IN_RUN = select(t.c.thread_id, t.c.seq, t.c.body).where(_of_run, t.c.kind == EntryKind.PERSON)
_REWRITE = update(t).where(_of_thread, t.c.seq == bindparam("at"))
_REPLY_OF_RUN = select(t.c.body).where(_reply_of_run)
_REPLACE_REPLY = update(t).where(_reply_of_run)
_BEHIND = select(t).where(_of_thread, t.c.seq > bindparam("at")).order_by(t.c.seq).limit(bindparam("most"))
