"""What an operator asks of the database from the command line, whether the bridge runs or not."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.exc import SQLAlchemyError

from bridge.config import Config
from bridge.dispatch import pairing
from bridge.errors import DatabaseUnreachable, NotFound
from bridge.persistence import inbox, people
from bridge.persistence.database import Database, open_database
from bridge.persistence.inbox import BuriedEvent, EventState
from bridge.persistence.people import Pairing, Person, PersonKey
from bridge.persistence.schema import schema_revision
from bridge.persistence.upgrades import known_revisions


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """Where the tables are and at which revision. `revision` is None for a database that is still empty."""

    place: str
    revision: str | None
    known: Sequence[str]  # the revisions of this program, newest first
    waiting_events: int = 0
    buried_events: int = 0

    @property
    def is_too_new(self) -> bool:
        """Whether a newer program made it."""
        return self.revision is not None and self.revision not in self.known

    @property
    def is_current(self) -> bool:
        """Whether the program can use it as it is."""
        return self.revision == self.known[0]


async def database_status(config: Config) -> DatabaseStatus:
    """The state of the database; an SQLite file that is not there yet is not made. Raises DatabaseUnreachable."""
    place, known = _place(config), await asyncio.to_thread(known_revisions)
    if _is_not_made_yet(config):
        return DatabaseStatus(place, None, known)
    async with _opened(config) as database:
        revision, newest = await schema_revision(database.engine)
        if revision != newest:
            return DatabaseStatus(place, revision, known)
        waiting, buried = await database.read(inbox.count_open), await database.read(inbox.buried)
        return DatabaseStatus(place, revision, known, waiting, len(buried))


async def buried_events(config: Config) -> Sequence[BuriedEvent]:
    """Events that could not be decided, oldest first."""
    if _is_not_made_yet(config):
        return ()
    async with _opened(config) as database:
        return await database.read(inbox.buried)


async def unbury(config: Config, event_id: int, state: EventState) -> None:
    """Try a buried event again (RECEIVED) or let it go (DROPPED). Raises NotFound if it is not buried."""
    if _is_not_made_yet(config):
        raise NotFound(f"there is no buried event {event_id}")
    now = datetime.now(UTC)
    async with _opened(config) as database:
        if not await database.write(lambda connection: inbox.unbury(connection, event_id, state, now=now)):
            raise NotFound(f"there is no buried event {event_id}; `threadbridge inbox list` shows those there are")


async def access(config: Config) -> tuple[Sequence[Person], Sequence[Pairing]]:
    """Who was let in, and who asks to be."""
    if _is_not_made_yet(config):
        return (), ()
    now = datetime.now(UTC)
    async with _opened(config) as database:
        await database.write(lambda connection: people.expire(connection, now=now))
        return await database.read(people.everybody), await database.read(people.requests)


async def settle_request(config: Config, code: str, *, admit: bool) -> Pairing:
    """Let in whoever asked with this code, or drop the request. Raises NotFound if nobody did."""
    decide, now = (pairing.admit if admit else pairing.decline), datetime.now(UTC)
    if not _is_not_made_yet(config):
        async with _opened(config) as database:
            settled = await database.write(lambda connection: decide(connection, code, by=pairing.TERMINAL, now=now))
        if settled is not None:
            return settled
    raise NotFound(f"nobody asks with the code {code}; `threadbridge access list` shows who does")


async def shut_out(config: Config, person: PersonKey) -> None:
    """Take back that somebody was let in. Raises NotFound if nobody let them in."""
    now, revoked = datetime.now(UTC), False
    if not _is_not_made_yet(config):
        async with _opened(config) as database:
            revoked = await database.write(
                lambda connection: pairing.revoke(connection, person, by=pairing.TERMINAL, now=now)
            )
    if not revoked:
        raise NotFound(f"{person.person_id} was not let in; `threadbridge access list` shows who was")


@asynccontextmanager
async def _opened(config: Config) -> AsyncIterator[Database]:
    database = open_database(config.database.address, config.home)
    try:
        yield database
    except SQLAlchemyError as error:
        # The driver's own sentence: SQLAlchemy's repeats the statement and its parameters.
        reason = str(getattr(error, "orig", None) or error).partition("\n")[0]
        raise DatabaseUnreachable(f"the database {_place(config)} cannot be used: {reason}") from error
    finally:
        await database.close()


def _is_not_made_yet(config: Config) -> bool:
    return config.database.url is None and not (config.home / "threadbridge.db").exists()


def _place(config: Config) -> str:
    if config.database.address is None:
        return str(config.home / "threadbridge.db")
    _, _, after_password = config.database.address.rpartition("@")
    return f"postgresql://{after_password.rpartition('://')[2]}"
