"""What was chosen or written so far of an answer that is not whole."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("clarifications")}
    if "filled" not in columns:
        op.add_column("clarifications", sa.Column("filled", sa.JSON().with_variant(JSONB(), "postgresql")))
