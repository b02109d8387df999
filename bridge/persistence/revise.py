"""`python -m bridge.persistence.revise "message"`: write the migration that brings the newest revision to `tables.py`."""

import sys
import tempfile
from pathlib import Path

from alembic import command
from sqlalchemy import create_engine

from bridge.persistence.upgrades import alembic_config


def main() -> int:
    """Compare the models with a temporary SQLite database at head, and write a revision."""
    if len(sys.argv) != 2 or not sys.argv[1].strip():
        print('usage: make migrate-rev MSG="what changes"', file=sys.stderr)  # noqa: T201 — a command's own output
        return 1
    config = alembic_config()
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{Path(folder) / 'head.db'}")
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            scripts = list((Path(config.get_main_option("script_location") or "") / "versions").glob("[0-9]*.py"))
            command.revision(config, message=sys.argv[1], autogenerate=True, rev_id=f"{len(scripts) + 1:04d}")
        engine.dispose()
    return 0


if __name__ == "__main__":
    sys.exit(main())
