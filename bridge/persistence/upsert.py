"""INSERT that gives way to a row already there, in both dialects."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_or_keep(connection: Connection, table: Table, values: Mapping[str, Any]) -> Row[Any] | None:
    """Insert the row and give its primary key; None if one with the same key stands there already, which is left as it is."""
    return connection.execute(_keeping(connection.dialect.name, table), values).first()


def insert_or_replace(connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Insert the row, or give the one with the same primary key these values."""
    connection.execute(_replacing(connection.dialect.name, table, tuple(values)), values)


@cache
def _keeping(dialect: str, table: Table) -> Any:
    return _insert(dialect, table).on_conflict_do_nothing().returning(*table.primary_key)


@cache
def _replacing(dialect: str, table: Table, names: tuple[str, ...]) -> Any:
    statement = _insert(dialect, table)
    keys = [column.name for column in table.primary_key]
    rest = {name: statement.excluded[name] for name in names if name not in keys}
    return statement.on_conflict_do_update(index_elements=keys, set_=rest)


def _insert(dialect: str, table: Table) -> Any:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
