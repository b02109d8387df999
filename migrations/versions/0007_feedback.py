"""What people think of answers."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "feedback",
        sa.Column("feedback_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text()),
        sa.Column("rating", sa.Integer(), nullable=False),
        sa.Column("comment", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("feedback_id", name="pk_feedback"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_feedback_run_id_runs", ondelete="CASCADE"),
        sa.UniqueConstraint("thread_id", "run_id", "user_id", name="uq_feedback_thread_id_run_id_user_id"),
        if_not_exists=True,
    )
    op.create_index("ix_feedback_run_id", "feedback", ["run_id"], if_not_exists=True)
