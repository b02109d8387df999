"""What a program leaves behind: its log, its files, its tables."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from tests.e2e.program import Program
from tests.simulators.model.client import API_KEY
from tests.simulators.telegram.client import TOKEN

SECRETS = (TOKEN, quote(TOKEN, safe=""), API_KEY)


def assert_clean(program: Program) -> None:
    """No blocking call, no error nobody expected, no secret in log, files and tables."""
    log = program.log()
    assert "Blocking call" not in log, log
    assert "Traceback" not in log, log
    assert [secret for secret in SECRETS if secret in log] == [], log
    assert list(_files_with_secrets(program.home)) == []
    if program.database_url is not None:
        assert list(_tables_with_secrets(program.database_url)) == []


def assert_untold(said: object) -> None:
    """No secret in what people and models were shown."""
    text = str(said)
    assert [secret for secret in SECRETS if secret in text] == []


def _files_with_secrets(home: Path) -> Iterator[tuple[Path, str]]:
    for path in home.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            yield from ((path, secret) for secret in SECRETS if secret.encode() in content)


def _tables_with_secrets(url: str) -> Iterator[tuple[str, str]]:
    with psycopg.connect(_plain(url)) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (name,) in names:
            rows = connection.execute(f"SELECT convert_to(t::text, 'UTF8') FROM \"{name}\" t").fetchall()
            content = b"\n".join(row[0] for row in rows)
            yield from (
                (name, secret)
                for secret in SECRETS
                if secret.encode() in content or secret.encode().hex().encode() in content
            )


def rows(program: Program, query: str) -> Sequence[tuple[Any, ...]]:
    """What is written in the house's tables."""
    if program.database_url is None:
        with sqlite3.connect(f"file:{program.home / 'threadbridge.db'}?mode=ro", uri=True) as connection:
            found = connection.execute(query).fetchall()
        connection.close()
        return found
    with psycopg.connect(_plain(program.database_url)) as database:
        return database.execute(query).fetchall()


def _plain(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://")
