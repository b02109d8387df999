"""The schema's life: made, completed, upgraded, never harmed."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from bridge.errors import SchemaTooNew, SchemaUnusable
from bridge.persistence.database import Database, open_database
from bridge.persistence.schema import bootstrap_schema, head_revision, schema_revision
from bridge.persistence.tables import metadata, threads_meta
from bridge.persistence.upgrades import alembic_config, known_revisions

NOW = datetime(2026, 12, 1, tzinfo=UTC)
THREAD = {
    "thread_id": "old",
    "assistant_id": "lead",
    "user_id": "ann",
    "status": "idle",
    "metadata_json": {},
    "created_at": NOW,
    "updated_at": NOW,
}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
async def empty(tmp_path: Path, empty_url: str | None) -> AsyncIterator[Database]:
    """A database with nothing in it."""
    database = open_database(empty_url, tmp_path)
    yield database
    await database.close()


async def bootstrap(database: Database) -> None:
    await bootstrap_schema(database.engine, backend=database.backend)


def tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


def snapshot(connection: Connection) -> dict[str, Any]:
    """Every table with its columns, keys and indexes, as the database tells them."""
    inspector = inspect(connection)
    inspector.clear_cache()
    return {
        table: (
            sorted(
                (column["name"], str(column["type"]), column["nullable"]) for column in inspector.get_columns(table)
            ),
            inspector.get_pk_constraint(table),
            sorted((index["name"], index["column_names"], index["unique"]) for index in inspector.get_indexes(table)),
            sorted(str(key) for key in inspector.get_foreign_keys(table)),
            sorted(str(key) for key in inspector.get_unique_constraints(table)),
        )
        for table in sorted(inspector.get_table_names())
    }


def make(connection: Connection, *names: str, indexes: bool = True) -> None:
    """Some of our tables as an older or broken start left them: without a version."""
    for name in names:
        metadata.tables[name].create(connection)
        for index in () if indexes else metadata.tables[name].indexes:
            index.drop(connection)


def difference(connection: Connection) -> list[Any]:
    ours = {"include_object": lambda _o, name, kind, _r, _c: kind != "table" or name in metadata.tables}
    return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True, **ours}), metadata)


async def test_an_empty_database_gets_every_table_and_the_newest_version(empty: Database) -> None:
    await bootstrap(empty)
    assert await empty.read(tables) >= set(metadata.tables)
    assert await schema_revision(empty.engine) == (head_revision(), head_revision())


def migrate(connection: Connection) -> None:
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def sum_of_the_migrations(connection: Connection) -> dict[str, Any]:
    """What they make of nothing; taken back, so that the database is as empty as it was."""
    with connection.begin_nested() as nested:
        migrate(connection)
        found = snapshot(connection)
        nested.rollback()
    return found


async def test_the_tables_made_at_once_are_the_sum_of_the_migrations(empty: Database) -> None:
    migrated = await empty.write(sum_of_the_migrations)
    assert await empty.read(tables) == set()

    await bootstrap(empty)

    assert await empty.read(snapshot) == migrated
    assert await empty.read(difference) == []


def test_the_newest_revision_is_the_one_alembic_finds() -> None:
    assert head_revision() == known_revisions()[0]


async def test_a_second_start_changes_nothing(empty: Database) -> None:
    await bootstrap(empty)
    before = await empty.read(snapshot)
    await bootstrap(empty)
    assert await empty.read(snapshot) == before


async def test_tables_without_a_version_are_kept_and_stamped(empty: Database) -> None:
    await empty.write(lambda c: make(c, *(table.name for table in metadata.sorted_tables)))
    await empty.write(lambda c: c.execute(threads_meta.insert().values(**THREAD)))
    before = await empty.read(snapshot)

    await bootstrap(empty)

    after = await empty.read(snapshot)
    after.pop("alembic_version")
    assert after == before
    assert await empty.read(lambda c: c.execute(threads_meta.select()).one().thread_id) == "old"
    assert await empty.read(difference) == []


@pytest.mark.parametrize("indexes", [True, False])
async def test_what_a_broken_start_left_out_is_added(empty: Database, *, indexes: bool) -> None:
    await empty.write(lambda c: make(c, "threads_meta", "runs", "inbound_events", indexes=indexes))
    await empty.write(lambda c: c.execute(threads_meta.insert().values(**THREAD)))

    await bootstrap(empty)

    assert await empty.read(tables) >= set(metadata.tables)
    assert await empty.read(difference) == []
    assert await empty.read(lambda c: c.execute(threads_meta.select()).one().thread_id) == "old"


async def test_columns_that_rows_can_do_without_are_added(empty: Database) -> None:
    """Symptom: such a database was stamped as whole, and failed at the first statement that named the column."""
    await empty.write(lambda c: make(c, "threads_meta", "runs", "inbound_events", indexes=False))
    await empty.write(lambda c: c.execute(threads_meta.insert().values(**THREAD)))
    lacking = {
        "threads_meta": ["display_name", "fence"],
        "runs": ["cancel_action", "attempt"],
        "inbound_events": ["run_id"],
    }
    for table, columns in lacking.items():
        for column in columns:
            await empty.write(lambda c, t=table, n=column: c.execute(text(f"ALTER TABLE {t} DROP COLUMN {n}")))

    await bootstrap(empty)

    assert await empty.read(difference) == []
    row = await empty.read(lambda c: c.execute(threads_meta.select()).one())
    assert (row.thread_id, row.display_name, row.fence) == ("old", None, 0)
    assert await schema_revision(empty.engine) == (head_revision(), head_revision())


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("ALTER TABLE threads_meta DROP COLUMN user_id", "threads_meta lacks user_id"),
        ("CREATE TABLE conversations (key TEXT PRIMARY KEY, settings TEXT)", "conversations lacks .*thread_id"),
        ("CREATE TABLE runs (race TEXT NOT NULL, runner TEXT)", "runs lacks id, run_id.*runs demands race"),
    ],
)
async def test_what_cannot_be_completed_is_refused_by_name_and_left_as_it_is(
    empty: Database, damage: str, said: str
) -> None:
    """Symptom: another program's table `runs` was taken for ours."""
    await empty.write(lambda c: make(c, "threads_meta"))
    await empty.write(lambda c: c.execute(text("ALTER TABLE threads_meta DROP COLUMN fence")))
    await empty.write(lambda c: c.execute(text(damage)))
    before = await empty.read(snapshot)
    with pytest.raises(SchemaUnusable, match=said):
        await bootstrap(empty)
    assert await empty.read(snapshot) == before


async def test_a_database_of_a_newer_program_is_refused_and_left_as_it_is(empty: Database) -> None:
    await bootstrap(empty)
    await empty.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    before = await empty.read(snapshot)
    with pytest.raises(SchemaTooNew, match=f"9999.*{head_revision()}"):
        await bootstrap(empty)
    assert await empty.read(snapshot) == before


async def test_tables_of_others_are_not_touched(empty: Database) -> None:
    await empty.write(lambda c: c.execute(text("CREATE TABLE checkpoints (thread_id TEXT, body TEXT)")))
    await empty.write(lambda c: c.execute(text("INSERT INTO checkpoints VALUES ('t', 'b')")))
    await bootstrap(empty)
    await bootstrap(empty)
    assert await empty.read(lambda c: c.execute(text("SELECT * FROM checkpoints")).all()) == [("t", "b")]
    assert await empty.read(difference) == []


@pytest.mark.parametrize("empty_url", ["postgres"], indirect=True)
async def test_several_processes_may_start_together(empty: Database, empty_url: str, tmp_path: Path) -> None:
    """Each has an event loop of its own, so that only the database can keep them apart."""

    def start() -> None:
        database = open_database(empty_url, tmp_path)

        async def once() -> None:
            await bootstrap(database)
            await database.close()

        asyncio.run(once())

    await asyncio.gather(*(asyncio.to_thread(start) for _ in range(3)))
    assert await empty.read(difference) == []


async def test_several_starts_within_a_process(empty: Database) -> None:
    await asyncio.gather(*(bootstrap(empty) for _ in range(3)))
    assert isinstance(empty.engine, Engine | AsyncEngine)
    assert await empty.read(difference) == []


async def test_a_database_without_tables_has_no_revision(empty: Database) -> None:
    assert (await schema_revision(empty.engine))[0] is None


async def test_times_come_back_with_their_zone_and_one_without_is_refused(database: Database) -> None:
    await database.write(lambda c: c.execute(threads_meta.insert().values(**THREAD)))
    row = await database.read(lambda c: c.execute(threads_meta.select()).one())
    assert row.created_at == NOW
    assert row.created_at.tzinfo is not None
    with pytest.raises(Exception, match="a time needs its zone"):
        await database.write(
            lambda c: c.execute(threads_meta.insert().values(**{**THREAD, "created_at": NOW.replace(tzinfo=None)}))
        )
