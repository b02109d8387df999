"""The schema on one page. Every change here has its migration; times are UTC."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB


class UtcTime(TypeDecorator[datetime]):
    """A moment in UTC that keeps its zone on databases which forget it (SQLite)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without a zone: it would mean another moment on another machine."""
        if value is not None and value.tzinfo is None:
            raise ValueError("a time needs its zone")
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give back the zone."""
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


Document: Any = JSON().with_variant(JSONB(), "postgresql")
SerialId: Any = BigInteger().with_variant(Integer(), "sqlite")

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
    Column("display_name", Text),  # the title
    Column("status", Text, nullable=False),  # idle, busy, interrupted, error
    Column("metadata_json", Document, nullable=False),
    Column(
        "fence", BigInteger, nullable=False, server_default="0"
    ),  # the last fencing number given to a run of the thread
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)

conversations = Table(
    "conversations",
    metadata,
    Column("key", Text, primary_key=True),  # str(ConversationKey)
    Column("channel", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("chat_kind", Text, nullable=False),
    Column("person_id", Text, nullable=False),  # who opened it
    Column(
        "thread_id", Text, ForeignKey("threads_meta.thread_id", ondelete="SET NULL")
    ),  # /new points it at another thread
    Column("settings", Document, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Index(None, "channel", "account", "updated_at"),
    Index(None, "thread_id"),
)

inbound_events = Table(
    "inbound_events",
    metadata,
    Column("id", SerialId, primary_key=True),  # the order of arrival
    Column("channel", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("dedupe_key", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("message_id", Text),  # the platform's, of a message: edits and deletions name it
    Column("payload", Text, nullable=False),
    Column("state", Text, nullable=False),  # EventState
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("available_at", UtcTime, nullable=False),  # not decided before this moment (albums, back-off)
    Column("merged_into", SerialId),  # the event whose turn this one became part of
    Column("run_id", Text),
    Column("error", Text),
    Column("received_at", UtcTime, nullable=False),
    Column("decided_at", UtcTime),
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
    Index(None, "conversation", "message_id"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", SerialId, primary_key=True),  # the order of the thread's turns
    Column("run_id", Text, nullable=False, unique=True),
    Column("thread_id", Text, ForeignKey("threads_meta.thread_id", ondelete="CASCADE"), nullable=False),
    Column("assistant_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("status", Text, nullable=False),  # RunStatus
    Column("multitask_strategy", Text, nullable=False),
    Column("spec", Document, nullable=False),  # RunSpec
    Column("metadata_json", Document, nullable=False),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("owner", Text),
    Column("lease_expires_at", UtcTime),
    Column("cancel_action", Text),
    Column("trigger_event", SerialId),
    Column("held_until", UtcTime),  # waits for a person's word; dropped if none has come by then
    Column("checkpoint_before", Text),
    Column("checkpoint_after", Text),
    Column("error", Document),
    # As far as the providers tell: none of the totals where none does.
    Column("total_input_tokens", BigInteger),
    Column("total_output_tokens", BigInteger),
    Column("total_tokens", BigInteger),
    Column("llm_call_count", Integer, nullable=False, server_default="0"),
    Column("token_usage_by_model", Document),  # {model: ModelUsage}
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("started_at", UtcTime),  # its first attempt
    Column("ended_at", UtcTime),
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
    Column("kind", Text, nullable=False),  # person, reply
    Column("body", Document, nullable=False),
    Column("created_at", UtcTime, nullable=False),
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
    Column("data", LargeBinary, nullable=False),  # JSON
)

clarifications = Table(
    "clarifications",
    metadata,
    Column("token", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False),
    Column("call_id", Text, nullable=False),  # the tool call, or the id of a LangGraph interrupt
    Column("kind", Text, nullable=False),  # question, interrupt
    Column("thread_id", Text, nullable=False),
    Column("asked_of", Text, nullable=False),  # the person whose message led to the question
    Column("question", Text, nullable=False),  # the contract's Clarification, as asked
    Column("filled", Document),  # {step, filled}: what was chosen or written so far
    Column("state", Text, nullable=False),  # ClarificationState
    Column("answer", Text, nullable=False, server_default=""),
    Column("answered_by", Text, nullable=False, server_default=""),
    Column("expires_at", UtcTime),
    Column("created_at", UtcTime, nullable=False),
    UniqueConstraint("run_id", "call_id"),
    Index(
        "ix_clarifications_open",
        "thread_id",
        sqlite_where=text("state = 'open'"),
        postgresql_where=text("state = 'open'"),
    ),
)

feedback = Table(
    "feedback",
    metadata,
    Column("feedback_id", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("message_id", Text),  # of the agent, where a client names one; none for the whole answer
    Column("rating", Integer, nullable=False),  # 1, -1
    Column("comment", Text, nullable=False, server_default=""),
    Column("created_at", UtcTime, nullable=False),  # when this opinion was given
    UniqueConstraint("thread_id", "run_id", "user_id"),
    Index(None, "run_id"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation", Text, nullable=False),
    Column("chat_kind", Text, nullable=False),
    Column("reply_to", Text),
    Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), unique=True),
    Column("body", Text),  # a Reply of the house itself; a run's reply is in its stream, then in the transcript
    Column("state", Text, nullable=False),  # DeliveryState
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("owner", Text),
    Column("lease_expires_at", UtcTime),
    Column("available_at", UtcTime, nullable=False),
    Column("error", Text),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
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
    Column("state", Text, nullable=False),  # PieceState
    Column("message_id", Text),
    Column("digest", Text, nullable=False),
    Index(
        "ix_delivery_parts_shown",
        "message_id",
        sqlite_where=text("message_id IS NOT NULL"),
        postgresql_where=text("message_id IS NOT NULL"),
    ),
)

people = Table(
    "people",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("account", Text, primary_key=True),
    Column("person_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("admitted_by", Text, nullable=False),  # the admin's id, or `terminal`
    Column("admitted_at", UtcTime, nullable=False),
)

pairings = Table(
    "pairings",
    metadata,
    Column("code", Text, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("person_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("conversation", Text, nullable=False),  # where the person asked, and is told of the outcome
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    UniqueConstraint("channel", "account", "person_id"),
)

access_log = Table(
    "access_log",
    metadata,
    Column("id", SerialId, primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("action", Text, nullable=False),  # AccessAction
    Column("channel", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("person_id", Text, nullable=False),
    Column("conversation", Text),
    Column("done_by", Text),  # the admin's id, or `terminal`; none where the bridge itself decided
    Index(None, "channel", "account", "person_id", "id"),
)

leases = Table(
    "leases",
    metadata,
    Column("task", Text, primary_key=True),  # what only one process may be at, such as polling for a bot
    Column("owner", Text, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
)
