"""Turns that do not begin before the person has said so."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("runs")}
    if "held_until" not in columns:
        op.add_column("runs", sa.Column("held_until", sa.DateTime(timezone=True)))
