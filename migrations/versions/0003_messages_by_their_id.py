"""Messages of the inbox by the platform's id, so that edits and deletions find them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("inbound_events")}
    if "message_id" not in columns:
        op.add_column("inbound_events", sa.Column("message_id", sa.Text()))
    op.create_index(
        "ix_inbound_events_conversation_message_id",
        "inbound_events",
        ["conversation", "message_id"],
        if_not_exists=True,
    )
