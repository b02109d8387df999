"""The rows of `deliveries` and `delivery_parts`: what people still have to be shown, and what stands on the platform."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, delete, or_, select, update

from bridge.errors import LeaseExpired
from bridge.persistence.database import changed, for_update
from bridge.persistence.tables import deliveries as t
from bridge.persistence.tables import delivery_parts as p
from bridge.persistence.tables import runs as r
from bridge.persistence.upsert import insert_or_keep, insert_or_replace
from channels.contract import (
    ChatKind,
    ConversationKey,
    DeliveryReceipt,
    Piece,
    PieceState,
    Reply,
    reply_from_json,
    reply_to_json,
)


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
    return insert_or_keep(connection, t, values)


def claim_due(
    connection: Connection,
    *,
    owner: str,
    now: datetime,
    lease_expires_at: datetime,
    limit: int,
    from_owners: Collection[str] = (),
) -> Sequence[DeliveryRecord]:
    """Take deliveries nobody works on, oldest first. The epoch grows, so a former owner can record nothing more."""
    free = or_(t.c.owner.is_(None), t.c.lease_expires_at <= now, t.c.owner.in_(from_owners))
    query = (
        select(t.c.id)
        .where(t.c.state == DeliveryState.PENDING, t.c.available_at <= now, free)
        .order_by(t.c.created_at, t.c.id)
    )
    ids = connection.execute(for_update(connection, query.limit(limit), skip_locked=True)).scalars().all()
    if not ids:
        return ()
    values = {"owner": owner, "lease_expires_at": lease_expires_at, "epoch": t.c.epoch + 1}
    claimed = connection.execute(update(t).where(t.c.id.in_(ids)).values(**values).returning(t)).all()
    return [_record(row) for row in sorted(claimed, key=lambda row: (row.created_at, row.id))]


def renew(connection: Connection, owner: str, ids: Collection[str], *, lease_expires_at: datetime) -> set[str]:
    """Prolong these leases; gives those that are still the owner's."""
    statement = (
        update(t).where(t.c.owner == owner, t.c.id.in_(ids)).values(lease_expires_at=lease_expires_at).returning(t.c.id)
    )
    return set(connection.execute(statement).scalars())


def receipt_of(connection: Connection, delivery_id: str) -> DeliveryReceipt:
    """What stands on the platform."""
    query = select(p).where(p.c.delivery_id == delivery_id).order_by(p.c.position)
    return DeliveryReceipt(
        tuple(Piece(row.slot, PieceState(row.state), row.message_id, row.digest) for row in connection.execute(query))
    )


def record(
    connection: Connection, delivery: DeliveryRecord, owner: str, old: DeliveryReceipt, new: DeliveryReceipt
) -> None:
    """Store what changed between two receipts. Raises LeaseExpired when the delivery is somebody else's by now."""
    held = select(t.c.id).where(t.c.id == delivery.id, t.c.epoch == delivery.epoch, t.c.owner == owner)
    if connection.execute(for_update(connection, held)).first() is None:
        raise LeaseExpired(f"delivery {delivery.id} is not this process's any more")
    gone = {piece.slot for piece in old.pieces} - {piece.slot for piece in new.pieces}
    if gone:
        connection.execute(delete(p).where(p.c.delivery_id == delivery.id, p.c.slot.in_(gone)))
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


def is_behind(connection: Connection, run_id: str) -> bool:
    """Whether the answer of an earlier turn of the same thread is done and does not stand yet."""
    mine = select(r.c.thread_id, r.c.id).where(r.c.run_id == run_id).subquery()
    earlier = (r.c.thread_id == mine.c.thread_id) & (r.c.id < mine.c.id) & r.c.ended_at.is_not(None)
    query = select(t.c.id).join(r, r.c.run_id == t.c.run_id).where(t.c.state == DeliveryState.PENDING, earlier)
    return connection.execute(query.limit(1)).first() is not None


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
    mine = (t.c.id == delivery.id) & (t.c.epoch == delivery.epoch) & (t.c.owner == owner)
    free = {"owner": None, "lease_expires_at": None, "updated_at": now}
    ended = {**free, "state": state, "error": error, "body": None}
    if changed(connection, update(t).where(mine, t.c.available_at == delivery.available_at).values(**ended)):
        return True
    connection.execute(update(t).where(mine).values(**free))
    return False


def put_off(
    connection: Connection, delivery: DeliveryRecord, owner: str, *, until: datetime, error: str | None, now: datetime
) -> None:
    """Let go of a delivery to take it up again at `until`."""
    mine = (t.c.id == delivery.id) & (t.c.epoch == delivery.epoch) & (t.c.owner == owner)
    values = {
        "owner": None,
        "lease_expires_at": None,
        "available_at": until,
        "attempts": t.c.attempts + 1,
        "error": error,
        "updated_at": now,
    }
    connection.execute(update(t).where(mine).values(**values))


def reopen(connection: Connection, run_id: str, *, now: datetime) -> bool:
    """The answer of this run has changed (a question was settled): it is to be shown again. False if nobody was ever shown it.

    Whoever is at it now finishes first, for what is under way could not be recorded any more and would be repeated.
    """
    values = {"state": DeliveryState.PENDING, "available_at": now, "attempts": 0, "updated_at": now}
    return bool(changed(connection, update(t).where(t.c.run_id == run_id).values(**values)))


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
