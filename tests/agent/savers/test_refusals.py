"""What the database of the checkpoints refuses is an error of ours, on either database."""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import psycopg
import pytest

from agent.errors import CheckpointNotStored
from agent.savers import CheckpointConfig, CheckpointStore, open_checkpoints

CALLS: dict[str, Callable[[CheckpointStore], Awaitable[object]]] = {
    "claim": lambda store: store.claim("t", 2),
    "newest": lambda store: store.newest("t"),
    "prune": lambda store: store.prune("t", 1),
    "rollback": lambda store: store.rollback("t", None, 1),
    "delete": lambda store: store.delete("t"),
}


def _drop_tables(home: Path, url: str | None) -> None:
    """Somebody has taken the tables away."""
    if url is None:
        with sqlite3.connect(home / "checkpoints.db") as file:
            file.executescript("DROP TABLE checkpoints; DROP TABLE thread_fences;")
        file.close()
        return
    with psycopg.connect(url.replace("+psycopg", "")) as server:
        server.execute("DROP TABLE checkpoints, thread_fences")


@pytest.mark.parametrize("name", CALLS)
async def test_every_call_says_so_in_our_words(tmp_path: Path, database_url: str | None, name: str) -> None:
    """Symptom: on PostgreSQL a run ended with the driver's exception and all of its statement."""
    async with open_checkpoints(CheckpointConfig(), home=tmp_path, database_url=database_url) as store:
        await store.claim("t", 1)
        _drop_tables(tmp_path, database_url)
        with pytest.raises(CheckpointNotStored, match=r"the checkpoint (file|database) refused: ") as caught:
            await CALLS[name](store)
    assert "\n" not in str(caught.value)
    assert "SELECT" not in str(caught.value)
