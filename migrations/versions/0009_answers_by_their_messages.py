"""Answers by the platform's ids of the messages that show them, so that reactions find them."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    shown = sa.text("message_id IS NOT NULL")
    op.create_index(
        "ix_delivery_parts_shown",
        "delivery_parts",
        ["message_id"],
        if_not_exists=True,
        sqlite_where=shown,
        postgresql_where=shown,
    )
