"""The rows of `deliveries` and `delivery_parts`: what people still have to be shown, and what stands on the platform."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, or_, select, update

from bridge.errors import LeaseExpired
from bridge.persistence.database import changed
from bridge.persistence.tables import clarifications as c
from bridge.persistence.tables import deliveries as t
from bridge.persistence.tables import delivery_parts as p
from bridge.persistence.tables import runs as r
from bridge.persistence.unreadable import reason
from bridge.persistence.upsert import insert_or_keep, insert_or_replace
from channels.contract import (
    ChatKind,
    ClarificationState,
    ConversationKey,
    DeliveryReceipt,
    Piece,
    PieceState,
    Reply,
    reply_from_json,
    reply_to_json,
)

logger = logging.getLogger(__name__)


class DeliveryState(StrEnum):
    """Where a delivery stands; how sure each piece is stands with the piece."""

    PENDING = "pending"  # the newest snapshot is not on the platform yet
    SENT = "sent"
    FAILED = "failed"  # the platform refuses for good; `error` says why


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """One answer on its way to one conversation."""

    id: str
    conversation: ConversationKey
    chat_kind: ChatKind
    reply_to: str | None
    run_id: str | None
    body: Reply | None
    state: DeliveryState
    epoch: int
    attempts: int
    available_at: datetime


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """An answer to be delivered: a run's (then `run_id` names it), or one of the house itself (then `body` holds it)."""

    id: str
    conversation: ConversationKey
    chat_kind: ChatKind
    reply_to: str | None = None
    run_id: str | None = None
    body: Reply | None = None


def insert(connection: Connection, delivery: NewDelivery, *, now: datetime) -> bool:
    """Owe somebody an answer; False if this one is owed already."""
    values = {
        "id": delivery.id,
        "conversation": str(delivery.conversation),
        "chat_kind": delivery.chat_kind,
        "reply_to": delivery.reply_to,
        "run_id": delivery.run_id,
        "body": reply_to_json(delivery.body).decode() if delivery.body else None,
        "state": DeliveryState.PENDING,
        "available_at": now,
        "created_at": now,
        "updated_at": now,
    }
    return insert_or_keep(connection, t, values) is not None


def claim_due(
    connection: Connection,
    *,
    owner: str,
    now: datetime,
    lease_expires_at: datetime,
    limit: int,
    from_owners: Collection[str] = (),
) -> Sequence[DeliveryRecord]:
    """Take deliveries nobody works on, oldest first. The epoch grows, so a former owner can record nothing more.

    One that this version cannot read is given up with its reason, so that it holds no other up.
    """
    due = {"now": now, "from_owners": list(from_owners), "most": limit}
    ids = connection.execute(_DUE, due).scalars().all()
    if not ids:
        return ()
    values = {"owner": owner, "lease_expires_at": lease_expires_at}
    claimed = connection.execute(_TAKE, {"ids": list(ids), **values}).all()
    records = [_record_or_error(row) for row in sorted(claimed, key=lambda row: (row.created_at, row.id))]
    for record in records:
        if isinstance(record, _Unreadable):
            values = {"owner": None, "lease_expires_at": None, "state": DeliveryState.FAILED, "error": record.reason}
            connection.execute(_CHANGE, {"delivery": record.id, **values})
            logger.error("delivery %s is given up, for its row cannot be read: %s", record.id, record.reason)
    return [record for record in records if isinstance(record, DeliveryRecord)]


def renew(connection: Connection, owner: str, ids: Collection[str], *, lease_expires_at: datetime) -> set[str]:
    """Prolong these leases; gives those that are still the owner's."""
    mine = {"ids": list(ids), "holder": owner}
    return set(connection.execute(_RENEW, {**mine, "lease_expires_at": lease_expires_at}).scalars())


def receipt_of(connection: Connection, delivery_id: str) -> DeliveryReceipt:
    """What stands on the platform."""
    rows = connection.execute(_PARTS, {"delivery": delivery_id})
    return DeliveryReceipt(tuple(Piece(row.slot, _piece_state(row.state), row.message_id, row.digest) for row in rows))


def record(
    connection: Connection, delivery: DeliveryRecord, owner: str, old: DeliveryReceipt, new: DeliveryReceipt
) -> None:
    """Store what changed between two receipts. Raises LeaseExpired when the delivery is somebody else's by now."""
    if connection.execute(_LOCK_HELD, _holding(delivery, owner)).first() is None:
        raise LeaseExpired(f"delivery {delivery.id} is not this process's any more")
    gone = {piece.slot for piece in old.pieces} - {piece.slot for piece in new.pieces}
    if gone:
        connection.execute(_REMOVE_PARTS, {"delivery": delivery.id, "slots": list(gone)})
    for position, piece in enumerate(new.pieces):
        if gone or old.piece(piece.slot) != piece:  # those behind one that is gone move up
            values = {
                "delivery_id": delivery.id,
                "slot": piece.slot,
                "position": position,
                "state": piece.state,
                "message_id": piece.message_id,
                "digest": piece.digest,
            }
            insert_or_replace(connection, p, values)


def shown_at(connection: Connection, chat: ConversationKey, message_id: str) -> tuple[ConversationKey, str] | None:
    """(conversation, run) of the answer that a message shows, in whichever topic of the chat."""
    everywhere = str(replace(chat, topic=""))
    row = connection.execute(
        _SHOWN_AT, {"message": message_id, "beginning": everywhere, "length": len(everywhere)}
    ).first()
    return (ConversationKey.parse(row.conversation), row.run_id) if row else None


def is_shown_in(connection: Connection, run_id: str, conversation: ConversationKey) -> bool:
    """Whether the run's answer belongs to this conversation, into which its former one may have turned."""
    return connection.execute(_IN, {"run": run_id, "key": str(conversation)}).first() is not None


def is_behind(connection: Connection, run_id: str) -> bool:
    """Whether the answer of an earlier turn of the same thread is done and does not stand yet."""
    return connection.execute(_BEHIND, {"run": run_id}).first() is not None


def finish(
    connection: Connection,
    delivery: DeliveryRecord,
    owner: str,
    state: DeliveryState,
    *,
    now: datetime,
    error: str | None = None,
) -> bool:
    """Let go of a delivery: done or failed for good. False if it is somebody else's by now, or was reopened meanwhile."""
    mine = _holding(delivery, owner)
    free = {"owner": None, "lease_expires_at": None, "updated_at": now}
    ended = {**free, "state": state, "error": error, "body": None}
    if changed(connection, _END_HELD, {**mine, "was_due": delivery.available_at, **ended}):
        return True
    connection.execute(_CHANGE_HELD, {**mine, **free})
    return False


def put_off(
    connection: Connection, delivery: DeliveryRecord, owner: str, *, until: datetime, error: str | None, now: datetime
) -> None:
    """Let go of a delivery to take it up again at `until`."""
    values = {"owner": None, "lease_expires_at": None, "available_at": until, "error": error, "updated_at": now}
    connection.execute(_PUT_OFF, {**_holding(delivery, owner), **values})


def reopen(connection: Connection, run_id: str, *, now: datetime) -> bool:
    """The answer of this run has changed (a question was settled): it is to be shown again. False if nobody was ever shown it.

    Whoever is at it now finishes first, for what is under way could not be recorded any more and would be repeated.
    """
    values = {"state": DeliveryState.PENDING, "available_at": now, "attempts": 0, "updated_at": now}
    return bool(changed(connection, _REOPEN, {"run": run_id, **values}))


def rekey(connection: Connection, old: ConversationKey, new: ConversationKey, *, now: datetime) -> bool:
    """What is owed to a conversation is owed to another, into which it has turned; False if nothing is.

    It is shown there whole, since what stands in the former place can be changed no more, and so is an answer whose question is still
    open. Who is at it now can record nothing more. A piece whose outcome is unknown stays one.
    """
    ids = connection.execute(_OWED_TO, {"key": str(old)}).scalars().all()
    if not ids:
        return False
    values = {"state": DeliveryState.PENDING, "owner": None, "lease_expires_at": None, "available_at": now}
    moved = {"conversation": str(new), "reply_to": None, "attempts": 0, "updated_at": now}
    connection.execute(_TAKE_AWAY, {"ids": list(ids), **values, **moved})
    connection.execute(_FORGET_PARTS, {"ids": list(ids)})
    return True


def _holding(delivery: DeliveryRecord, owner: str) -> Mapping[str, Any]:
    """The values of `_held`."""
    return {"delivery": delivery.id, "held_epoch": delivery.epoch, "holder": owner}


@dataclass(frozen=True, slots=True)
class _Unreadable:
    id: str
    reason: str


def _record_or_error(row: Any) -> DeliveryRecord | _Unreadable:
    try:
        return _record(row)
    except ValueError as error:
        return _Unreadable(row.id, reason(error))


def _piece_state(stored: str) -> PieceState:
    """A state only another version knows says as little as that of a piece that was under way."""
    return PieceState(stored) if stored in set(PieceState) else PieceState.ATTEMPTING


def _record(row: Any) -> DeliveryRecord:
    return DeliveryRecord(
        id=row.id,
        conversation=ConversationKey.parse(row.conversation),
        chat_kind=ChatKind(row.chat_kind),
        reply_to=row.reply_to,
        run_id=row.run_id,
        body=reply_from_json(row.body) if row.body else None,
        state=DeliveryState(row.state),
        epoch=row.epoch,
        attempts=row.attempts,
        available_at=row.available_at,
    )


_it = t.c.id == bindparam("delivery")
_held = _it & (t.c.epoch == bindparam("held_epoch")) & (t.c.owner == bindparam("holder"))
_any_of = t.c.id.in_(bindparam("ids", expanding=True))
_pending = t.c.state == DeliveryState.PENDING
_free = or_(
    t.c.owner.is_(None),
    t.c.lease_expires_at <= bindparam("now"),
    t.c.owner.in_(bindparam("from_owners", expanding=True)),
)
_asking = select(c.c.run_id).where(c.c.state == ClarificationState.OPEN)
_parts_of = p.c.delivery_id == bindparam("delivery")
_mine = select(r.c.thread_id, r.c.id).where(r.c.run_id == bindparam("run")).subquery()
_ended_before_mine = (r.c.thread_id == _mine.c.thread_id) & (r.c.id < _mine.c.id) & r.c.ended_at.is_not(None)

_DUE = (
    select(t.c.id)
    .where(_pending, t.c.available_at <= bindparam("now"), _free)
    .order_by(t.c.created_at, t.c.id)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
_TAKE = update(t).where(_any_of).values(epoch=t.c.epoch + 1).returning(t)
_RENEW = update(t).where(_any_of, t.c.owner == bindparam("holder")).returning(t.c.id)
_PARTS = select(p).where(_parts_of).order_by(p.c.position)
_REMOVE_PARTS = delete(p).where(_parts_of, p.c.slot.in_(bindparam("slots", expanding=True)))
_SHOWN_AT = (
    select(t.c.conversation, t.c.run_id)
    .join(p, p.c.delivery_id == t.c.id)
    .where(
        p.c.message_id == bindparam("message"),
        func.substr(t.c.conversation, 1, bindparam("length")) == bindparam("beginning"),
        t.c.run_id.is_not(None),
    )
    .limit(1)
)
_IN = select(t.c.id).where(t.c.run_id == bindparam("run"), t.c.conversation == bindparam("key"))
_BEHIND = select(t.c.id).join(r, r.c.run_id == t.c.run_id).where(_pending, _ended_before_mine).limit(1)
_OWED_TO = (
    select(t.c.id).where(t.c.conversation == bindparam("key"), or_(_pending, t.c.run_id.in_(_asking))).with_for_update()
)
_TAKE_AWAY = update(t).where(_any_of).values(epoch=t.c.epoch + 1)
_FORGET_PARTS = delete(p).where(
    p.c.delivery_id.in_(bindparam("ids", expanding=True)), p.c.state.in_((PieceState.SENT, PieceState.FAILED))
)
_LOCK_HELD = select(t.c.id).where(_held).with_for_update()
_CHANGE = update(t).where(_it)
_CHANGE_HELD = update(t).where(_held)
_END_HELD = update(t).where(_held, t.c.available_at == bindparam("was_due"))
_PUT_OFF = _CHANGE_HELD.values(attempts=t.c.attempts + 1)
_REOPEN = update(t).where(t.c.run_id == bindparam("run"))
