"""Tables of ours without a revision: completed where nothing can go wrong by it, else refused before anything is changed."""

from collections.abc import Iterator, Sequence
from typing import Any

from alembic.operations import Operations
from sqlalchemy import Column, Connection, MetaData, Table, UniqueConstraint, inspect

from bridge.errors import SchemaUnusable


def complete_columns(connection: Connection, operations: Operations, expected: MetaData) -> None:
    """Add the columns that tables which are there lack. Raises SchemaUnusable naming all that cannot be mended; nothing is changed then.

    Only a column that may be empty or has a default, and that no key rests on, can be added to rows that are there.
    """
    inspector = inspect(connection)
    present = [expected.tables[name] for name in inspector.get_table_names() if name in expected.tables]
    problems: list[str] = []
    addable: list[tuple[Table, Column[Any]]] = []
    for table in present:
        there = inspector.get_columns(table.name)
        lacking = [column for column in table.columns if column.name not in {each["name"] for each in there}]
        addable += [(table, column) for column in lacking if _can_be_added(table, column)]
        problems += _problems(table, lacking, there, inspector.get_pk_constraint(table.name)["constrained_columns"])
    if problems:
        raise SchemaUnusable(
            f"the database has tables that carry no revision and are not as this program makes them: {'; '.join(problems)}. "
            "Nothing was changed. If they are another program's, give this one a database of its own; if they are ours, restore a backup"
        )
    for table, column in addable:
        added: Column[Any] = Column(
            column.name, column.type, nullable=column.nullable, server_default=column.server_default
        )
        operations.add_column(table.name, added)


def _problems(
    table: Table, lacking: Sequence[Column[Any]], there: Sequence[Any], primary_key: Sequence[str]
) -> Iterator[str]:
    needed = [column.name for column in lacking if not _can_be_added(table, column)]
    if needed:
        yield f"{table.name} lacks {', '.join(needed)}"
    strange = [
        each["name"]
        for each in there
        if each["name"] not in table.columns and not each["nullable"] and each.get("default") is None
    ]
    if strange:
        yield f"{table.name} demands {', '.join(strange)}"
    if not needed and list(primary_key) != [column.name for column in table.primary_key]:
        yield f"{table.name} has another primary key"


def _can_be_added(table: Table, column: Column[Any]) -> bool:
    is_keyed = column.primary_key or column.unique or bool(column.foreign_keys)
    in_unique = any(
        isinstance(constraint, UniqueConstraint) and column.name in constraint.columns
        for constraint in table.constraints
    )
    return not is_keyed and not in_unique and (bool(column.nullable) or column.server_default is not None)
