"""First tables."""

from collections.abc import Collection

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

Document = JSON().with_variant(JSONB(), "postgresql")
SerialId = BigInteger().with_variant(Integer(), "sqlite")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

threads_meta = Table(
    "threads_meta",
    metadata,
    Column("thread_id", Text, primary_key=True),
    Column("assistant_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("display_name", Text),
    Column("status", Text, nullable=False),
    Column("metadata_json", Document, nullable=False),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
)

conversations = Table(
    "conversations",
    metadata,
    Column("key", Text, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("chat_kind", Text, nullable=False),
    Column("person_id", Text, nullable=False),
    Column("thread_id", Text, ForeignKey("threads_meta.thread_id", ondelete="SET NULL")),
    Column("settings", Document, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Index(None, "channel", "account", "updated_at"),
    Index(None, "thread_id"),
)

inbound_events = Table(
    "inbound_events",
    metadata,
    Column("id", SerialId, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("dedupe_key", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("available_at", DateTime(timezone=True), nullable=False),
    Column("merged_into", SerialId),
    Column("run_id", Text),
    Column("error", Text),
    Column("received_at", DateTime(timezone=True), nullable=False),
    Column("decided_at", DateTime(timezone=True)),
    UniqueConstraint("channel", "account", "dedupe_key"),
    Index(
        "ix_inbound_events_open",
        "conversation",
        "id",
        sqlite_where=text("state = 'received'"),
        postgresql_where=text("state = 'received'"),
    ),
    Index(None, "run_id"),
    Index(None, "merged_into"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", SerialId, primary_key=True),
    Column("run_id", Text, nullable=False, unique=True),
    Column("thread_id", Text, ForeignKey("threads_meta.thread_id", ondelete="CASCADE"), nullable=False),
    Column("assistant_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("multitask_strategy", Text, nullable=False),
    Column("spec", Document, nullable=False),
    Column("metadata_json", Document, nullable=False),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("owner", Text),
    Column("lease_expires_at", DateTime(timezone=True)),
    Column("cancel_action", Text),
    Column("trigger_event", SerialId),
    Column("checkpoint_before", Text),
    Column("checkpoint_after", Text),
    Column("error", Document),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("ended_at", DateTime(timezone=True)),
    Index(
        "uq_runs_active_thread",
        "thread_id",
        unique=True,
        sqlite_where=text("status = 'running'"),
        postgresql_where=text("status = 'running'"),
    ),
    Index(
        "ix_runs_open",
        "status",
        "id",
        sqlite_where=text("status IN ('pending', 'running')"),
        postgresql_where=text("status IN ('pending', 'running')"),
    ),
    Index(None, "thread_id", "id"),
    Index(None, "ended_at"),
)

transcript = Table(
    "transcript",
    metadata,
    Column("thread_id", Text, ForeignKey("threads_meta.thread_id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Document, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Index(None, "run_id"),
)

stream_parts = Table(
    "stream_parts",
    metadata,
    Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("mode", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

clarifications = Table(
    "clarifications",
    metadata,
    Column("token", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False),
    Column("call_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("asked_of", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("answer", Text, nullable=False, server_default=""),
    Column("answered_by", Text, nullable=False, server_default=""),
    Column("expires_at", DateTime(timezone=True)),
    Column("created_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint("run_id", "call_id"),
    Index(
        "ix_clarifications_open",
        "thread_id",
        sqlite_where=text("state = 'open'"),
        postgresql_where=text("state = 'open'"),
    ),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation", Text, nullable=False),
    Column("chat_kind", Text, nullable=False),
    Column("reply_to", Text),
    Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), unique=True),
    Column("body", Text),
    Column("state", Text, nullable=False),
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("owner", Text),
    Column("lease_expires_at", DateTime(timezone=True)),
    Column("available_at", DateTime(timezone=True), nullable=False),
    Column("error", Text),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Index(
        "ix_deliveries_open",
        "available_at",
        sqlite_where=text("state = 'pending'"),
        postgresql_where=text("state = 'pending'"),
    ),
)

delivery_parts = Table(
    "delivery_parts",
    metadata,
    Column("delivery_id", Text, ForeignKey("deliveries.id", ondelete="CASCADE"), primary_key=True),
    Column("slot", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("message_id", Text),
    Column("digest", Text, nullable=False),
)


def upgrade(skip: Collection[str] = ()) -> None:
    """Make every table that is not there yet; `skip` names those that are (a database without a version)."""
    connection = op.get_bind()
    metadata.create_all(connection, [table for name, table in metadata.tables.items() if name not in skip])
    for name in skip:
        for index in metadata.tables[name].indexes if name in metadata.tables else ():
            index.create(connection, checkfirst=True)
