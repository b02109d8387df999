"""A database that does not answer is said in one line, without its password."""

from pathlib import Path

import pytest

from bridge.errors import DatabaseUnreachable
from bridge.persistence.database import open_database
from bridge.persistence.schema import bootstrap_schema


async def test_a_server_that_is_away_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    database = open_database("postgresql+psycopg://me:hidden-word@127.0.0.1:9/none", tmp_path)
    with pytest.raises(DatabaseUnreachable, match="cannot be used") as raised:
        await bootstrap_schema(database.engine, backend=database.backend)
    assert "hidden-word" not in str(raised.value)
    assert "\n" not in str(raised.value)
    await database.close()
