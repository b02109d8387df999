"""The schema's life: `bootstrap_schema` is the only way it is made and upgraded."""

import asyncio
from collections.abc import Set as AbstractSet
from pathlib import Path
from weakref import WeakKeyDictionary

from sqlalchemy import Column, Connection, Engine, MetaData, PrimaryKeyConstraint, String, Table, inspect, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine

import migrations
from bridge.errors import DatabaseUnreachable
from bridge.persistence.database import Backend, T, Work
from bridge.persistence.tables import metadata

_ADVISORY_LOCK = 0x7468_7264_6272_6467  # "thrdbrdg": one upgrader at a time on PostgreSQL
# Alembic's own table, as it makes it.
_REVISION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
# One upgrade at a time within an event loop: alembic keeps its environment in a module.
_upgrading: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def bootstrap_schema(engine: Engine | AsyncEngine, *, backend: Backend) -> None:
    """Bring the database to the head revision; a second call changes nothing.

    Empty: every table is made and stamped. Legacy (our tables, no version): what the first revision has beyond them is added
    (tables, indexes, columns), then upgraded; what cannot be added raises SchemaUnusable. Versioned: upgraded. A revision this
    program does not know raises SchemaTooNew. Safe when several processes start together; other programs' tables are not touched.
    Raises DatabaseUnreachable.
    """
    async with _upgrading.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        try:
            if isinstance(engine, AsyncEngine):
                async with engine.begin() as connection:
                    await connection.run_sync(_bring_to_head)
            else:
                await asyncio.to_thread(_in_transaction, engine, _bring_to_head)
        except OperationalError as error:
            reason = str(error.orig).partition("\n")[0]  # the driver's own sentence, without statement and parameters
            raise DatabaseUnreachable(f"the database cannot be used: {reason}") from error


async def schema_revision(engine: Engine | AsyncEngine) -> tuple[str | None, str]:
    """(the database's revision, the program's)."""
    if isinstance(engine, AsyncEngine):
        async with engine.connect() as connection:
            current = await connection.run_sync(_current)
    else:
        current = await asyncio.to_thread(_in_transaction, engine, _current)
    return current, head_revision()


def head_revision() -> str:
    """The newest revision this program knows: the highest number among the files of the migrations."""
    return max(file.name[:4] for file in (Path(migrations.__file__).parent / "versions").glob("[0-9]*.py"))


def _in_transaction(engine: Engine, work: Work[T]) -> T:
    with engine.begin() as connection:
        return work(connection)


def _bring_to_head(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    present = set(inspect(connection).get_table_names())
    current = _revision(connection, present)
    if current == head_revision():
        return
    if current is None and not present & set(metadata.tables):
        _make_all(connection)
        return
    from bridge.persistence.upgrades import upgrade

    upgrade(connection, current)


def _current(connection: Connection) -> str | None:
    return _revision(connection, set(inspect(connection).get_table_names()))


def _revision(connection: Connection, present: AbstractSet[str]) -> str | None:
    return connection.execute(_REVISION.select()).scalar() if _REVISION.name in present else None


def _make_all(connection: Connection) -> None:
    """The tables as the migrations would make them, in one go."""
    metadata.create_all(connection)
    _REVISION.create(connection, checkfirst=True)
    connection.execute(_REVISION.insert(), {"version_num": head_revision()})
