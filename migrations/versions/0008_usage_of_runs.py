"""When a run began, and what its calls of models have cost."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("runs")}
    for column in (
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("total_input_tokens", sa.BigInteger()),
        sa.Column("total_output_tokens", sa.BigInteger()),
        sa.Column("total_tokens", sa.BigInteger()),
        sa.Column("llm_call_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("token_usage_by_model", sa.JSON().with_variant(JSONB(), "postgresql")),
    ):
        if column.name not in there:
            op.add_column("runs", column)
