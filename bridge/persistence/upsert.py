"""INSERT that gives way to a row already there, in both dialects."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_or_keep(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert the row; False if one with the same key stands there already, which is left as it is."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).values(**values).on_conflict_do_nothing()
    return connection.execute(statement.returning(*table.primary_key)).first() is not None


def insert_or_replace(connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Insert the row, or give the one with the same primary key these values."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).values(**values)
    keys = [column.name for column in table.primary_key]
    rest = {name: statement.excluded[name] for name in values if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=rest))
