"""Upgrades by alembic. Imported only when a database needs one: with its template language alembic takes as long to load as SQLAlchemy."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

import migrations
from bridge.errors import SchemaTooNew
from bridge.persistence.legacy import complete_columns

_BASELINE = "0001"


def upgrade(connection: Connection, current: str | None) -> None:
    """Bring tables at revision `current` to the newest; without one (None) completed first. Raises SchemaTooNew, SchemaUnusable."""
    config = alembic_config()
    config.attributes["connection"] = connection
    known = known_revisions()
    if current is not None and current not in known:
        raise SchemaTooNew(
            f"the database is at revision {current}, which this version does not know (newest here: {known[0]}); "
            "start a version at least as new as the one that upgraded it, or restore a backup"
        )
    if current is None:
        _complete_baseline(connection, config)
    command.upgrade(config, "head")


def known_revisions() -> tuple[str, ...]:
    """Every revision of this program, newest first."""
    return tuple(script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions())


def alembic_config() -> Config:
    """Alembic, pointed at the migrations that came with the package."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config


def _complete_baseline(connection: Connection, config: Config) -> None:
    """Tables without a version: a crash between making them and stamping, or a copy made by hand."""
    baseline = ScriptDirectory.from_config(config).get_revision(_BASELINE)
    present = set(inspect(connection).get_table_names())
    with Operations.context(MigrationContext.configure(connection)) as operations:
        complete_columns(connection, operations, baseline.module.metadata)
        baseline.module.upgrade(skip=present)
    command.stamp(config, _BASELINE)
