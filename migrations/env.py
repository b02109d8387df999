"""Alembic's environment: runs on the connection it is handed (`bootstrap_schema`, `make migrate-rev`)."""

from alembic import context

from bridge.persistence.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    include_object=lambda _object, name, kind, _reflected, _other: kind != "table" or name in metadata.tables,
)
with context.begin_transaction():
    context.run_migrations()
