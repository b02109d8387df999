"""Letting people in: an unknown person gets a code, an admin approves it."""

import secrets
from datetime import datetime, timedelta

from sqlalchemy import Connection

from bridge.persistence import deliveries, people
from bridge.persistence.deliveries import NewDelivery
from bridge.persistence.people import AccessAction, Pairing, Person, PersonKey
from channels.contract import ChatKind, InboundEvent, Notice, NoticeKind, Reply, ReplyPhase

CODE_LENGTH = 8
CODE_LIFE = timedelta(hours=1)
MOST_PENDING = 3  # at one account: more would make guessing a code worth while
TERMINAL = "terminal"
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without those that are taken for one another
_FULL = "Several people are waiting to be let in already. Please write again in an hour."
_WELCOME = "You have been let in. Write what you want to know or have done."


def person_of(event: InboundEvent) -> PersonKey:
    """The person as this account knows them."""
    return PersonKey(event.conversation.channel, event.conversation.account, event.sender.id)


def ask(connection: Connection, event: InboundEvent, *, now: datetime) -> tuple[str, str]:
    """Take an unknown person's request, or find the one they made; gives (an id, what to tell them), the id new for each new code."""
    person = person_of(event)
    people.expire(connection, now=now)
    pairing = people.request_of(connection, person)
    if pairing is None:
        if people.count_requests(connection, person.channel, person.account) >= MOST_PENDING:
            return f"full:{now:%Y-%m-%d}", _FULL
        pairing = Pairing(_new_code(), person, event.sender.name, event.conversation, now + CODE_LIFE)
        if people.ask(connection, pairing, now=now):
            people.note(connection, AccessAction.ASKED, person, now=now, conversation=event.conversation)
        else:  # another message of theirs was faster
            pairing = people.request_of(connection, person) or pairing
    return pairing.code, _request(pairing.code)


def admit(connection: Connection, code: str, *, by: str, now: datetime) -> Pairing | None:
    """Let in whoever asked with this code, and tell them; None if nobody does (any more)."""
    pairing = pending(connection, code, now)
    if pairing is None:
        return None
    people.admit(connection, Person(pairing.key, pairing.name, by, now))
    people.note(connection, AccessAction.ADMITTED, pairing.key, now=now, done_by=by)
    welcome = NewDelivery(
        id=f"admitted:{pairing.code}",
        conversation=pairing.conversation,
        chat_kind=ChatKind.PRIVATE,
        body=Reply((Notice(NoticeKind.INFO, _WELCOME),), ReplyPhase.FINAL),
    )
    deliveries.insert(connection, welcome, now=now)
    return pairing


def decline(connection: Connection, code: str, *, by: str, now: datetime) -> Pairing | None:
    """Drop a request; the person is told nothing. None if there is none with this code."""
    pairing = pending(connection, code, now)
    if pairing is not None:
        people.withdraw(connection, pairing.code)
        people.note(connection, AccessAction.DECLINED, pairing.key, now=now, done_by=by)
    return pairing


def revoke(connection: Connection, person: PersonKey, *, by: str, now: datetime) -> bool:
    """Shut somebody out again who was let in; False if nobody let them in."""
    if not people.revoke(connection, person):
        return False
    people.note(connection, AccessAction.REVOKED, person, now=now, done_by=by)
    return True


def pending(connection: Connection, code: str, now: datetime) -> Pairing | None:
    """Whoever asks with this code, in whatever case it was typed; None if nobody does (any more)."""
    people.expire(connection, now=now)
    return people.request_with(connection, code.strip().upper())


def _new_code() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(CODE_LENGTH))


def _request(code: str) -> str:
    return (
        f"This bot answers people it knows. Give an admin of it this code, which is good for an hour: `{code}`\n\n"
        f"The admin sends the bot `/pair {code}`, or types `threadbridge access approve {code}` where it runs."
    )
