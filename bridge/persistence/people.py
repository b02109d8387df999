"""The rows of `people`, `pairings` and `access_log`: who was let in, who asks to be, and what was decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, select

from bridge.persistence.database import changed
from bridge.persistence.tables import access_log as log
from bridge.persistence.tables import pairings as p
from bridge.persistence.tables import people as t
from bridge.persistence.upsert import insert_or_keep, insert_or_replace
from channels.contract import ConversationKey


class AccessAction(StrEnum):
    """What happened to somebody's access."""

    ASKED = "asked"  # got a pairing code
    ADMITTED = "admitted"
    DECLINED = "declined"
    REVOKED = "revoked"
    REFUSED = "refused"  # spoke without being allowed to


@dataclass(frozen=True, slots=True)
class PersonKey:
    """One person as one account of a channel knows them."""

    channel: str
    account: str
    person_id: str

    @property
    def values(self) -> dict[str, str]:
        """For statements."""
        return {"channel": self.channel, "account": self.account, "person_id": self.person_id}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who was let in."""

    key: PersonKey
    name: str
    admitted_by: str
    admitted_at: datetime


@dataclass(frozen=True, slots=True)
class Pairing:
    """Somebody who asks to be let in."""

    code: str
    key: PersonKey
    name: str
    conversation: ConversationKey
    expires_at: datetime


def is_admitted(connection: Connection, person: PersonKey) -> bool:
    """Whether an admin has let this person in."""
    return connection.execute(_ADMITTED, _where(person)).first() is not None


def admit(connection: Connection, person: Person) -> None:
    """Let somebody in, whose request is settled with it."""
    values = {"name": person.name, "admitted_by": person.admitted_by, "admitted_at": person.admitted_at}
    insert_or_replace(connection, t, {**person.key.values, **values})
    connection.execute(_FORGET_REQUEST, _where(person.key))


def revoke(connection: Connection, person: PersonKey) -> bool:
    """Take back what `admit` gave; False if there was nothing to take back."""
    return bool(changed(connection, _REVOKE, _where(person)))


def everybody(connection: Connection) -> Sequence[Person]:
    """Everybody who was let in, oldest first."""
    rows = connection.execute(_EVERYBODY)
    return [Person(_key(row), row.name, row.admitted_by, row.admitted_at) for row in rows]


def ask(connection: Connection, pairing: Pairing, *, now: datetime) -> bool:
    """Write a request down; False if the person has one already."""
    values = {
        **pairing.key.values,
        "code": pairing.code,
        "name": pairing.name,
        "conversation": str(pairing.conversation),
        "created_at": now,
        "expires_at": pairing.expires_at,
    }
    return insert_or_keep(connection, p, values) is not None


def request_of(connection: Connection, person: PersonKey) -> Pairing | None:
    """What this person asks."""
    row = connection.execute(_REQUEST_OF, _where(person)).one_or_none()
    return _pairing(row) if row else None


def request_with(connection: Connection, code: str) -> Pairing | None:
    """The request with this code."""
    row = connection.execute(_REQUEST_WITH, {"its_code": code}).one_or_none()
    return _pairing(row) if row else None


def requests(connection: Connection) -> Sequence[Pairing]:
    """Everybody who asks, oldest first."""
    return [_pairing(row) for row in connection.execute(_REQUESTS)]


def count_requests(connection: Connection, channel: str, account: str) -> int:
    """How many ask at this account."""
    return connection.execute(_COUNT, {"of_channel": channel, "of_account": account}).scalar_one()


def withdraw(connection: Connection, code: str) -> bool:
    """Drop a request; False if there is none with this code."""
    return bool(changed(connection, _WITHDRAW, {"its_code": code}))


def expire(connection: Connection, *, now: datetime) -> None:
    """Drop the requests whose time is over."""
    connection.execute(_EXPIRE, {"moment": now})


def note(
    connection: Connection,
    action: AccessAction,
    person: PersonKey,
    *,
    now: datetime,
    conversation: ConversationKey | None = None,
    done_by: str | None = None,
) -> None:
    """Write down what was decided about somebody."""
    place = str(conversation) if conversation else None
    values = {**person.values, "at": now, "action": action, "conversation": place, "done_by": done_by}
    connection.execute(_NOTE, values)


def _where(person: PersonKey) -> dict[str, str]:
    return {"of_channel": person.channel, "of_account": person.account, "of_person": person.person_id}


def _key(row: Any) -> PersonKey:
    return PersonKey(row.channel, row.account, row.person_id)


def _pairing(row: Any) -> Pairing:
    return Pairing(row.code, _key(row), row.name, ConversationKey.parse(row.conversation), row.expires_at)


def _same_person(table: Any) -> Any:
    return (
        (table.c.channel == bindparam("of_channel"))
        & (table.c.account == bindparam("of_account"))
        & (table.c.person_id == bindparam("of_person"))
    )


_ADMITTED = select(t.c.person_id).where(_same_person(t))
_REVOKE = delete(t).where(_same_person(t))
_EVERYBODY = select(t).order_by(t.c.admitted_at)
_REQUEST_OF = select(p).where(_same_person(p))
_REQUEST_WITH = select(p).where(p.c.code == bindparam("its_code"))
_REQUESTS = select(p).order_by(p.c.created_at)
_COUNT = select(func.count()).where(p.c.channel == bindparam("of_channel"), p.c.account == bindparam("of_account"))
_FORGET_REQUEST = delete(p).where(_same_person(p))
_WITHDRAW = delete(p).where(p.c.code == bindparam("its_code"))
_EXPIRE = delete(p).where(p.c.expires_at <= bindparam("moment"))
_NOTE = log.insert()
