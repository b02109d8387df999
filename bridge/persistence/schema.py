"""The schema's life: `bootstrap_schema` is the only way it is made and upgraded."""

import asyncio
from pathlib import Path
from weakref import WeakKeyDictionary

from alembic import command
from alembic.config import Config
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine

import migrations
from bridge.errors import DatabaseUnreachable, SchemaTooNew
from bridge.persistence.database import Backend, T, Work
from bridge.persistence.legacy import complete_columns
from bridge.persistence.tables import metadata

_BASELINE = "0001"
_ADVISORY_LOCK = 0x7468_7264_6272_6467  # "thrdbrdg": one upgrader at a time on PostgreSQL
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
                    await connection.run_sync(_upgrade)
            else:
                await asyncio.to_thread(_in_transaction, engine, _upgrade)
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
    """The newest revision this program knows."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if head is None:
        raise RuntimeError("the package has no migrations")
    return head


def alembic_config() -> Config:
    """Alembic, pointed at the migrations that came with the package."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config


def _in_transaction(engine: Engine, work: Work[T]) -> T:
    with engine.begin() as connection:
        return work(connection)


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    config = alembic_config()
    config.attributes["connection"] = connection
    current = _current(connection)
    _refuse_unknown(current)
    if current is None and _has_our_tables(connection):
        _complete_baseline(connection, config)
    command.upgrade(config, "head")


def _refuse_unknown(revision: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}
    if revision is not None and revision not in known:
        raise SchemaTooNew(
            f"the database is at revision {revision}, which this version does not know (newest here: {head_revision()}); "
            "start a version at least as new as the one that upgraded it, or restore a backup"
        )


def _has_our_tables(connection: Connection) -> bool:
    return bool(set(inspect(connection).get_table_names()) & set(metadata.tables))


def _complete_baseline(connection: Connection, config: Config) -> None:
    """Tables without a version: a crash between making them and stamping, or a copy made by hand."""
    baseline = ScriptDirectory.from_config(config).get_revision(_BASELINE)
    present = set(inspect(connection).get_table_names())
    with Operations.context(MigrationContext.configure(connection)) as operations:
        complete_columns(connection, operations, baseline.module.metadata)
        baseline.module.upgrade(skip=present)
    command.stamp(config, _BASELINE)
