"""The databases tests run on: a SQLite file, and a PostgreSQL server of their own."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

START_SECONDS = 30.0


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A server without fsync in a directory that goes away; gives its URL without a database."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not binaries:
        pytest.skip("no PostgreSQL server is installed in /usr/lib/postgresql")
    directory = Path(tempfile.mkdtemp(prefix="test-pg-", dir="/tmp"))
    as_postgres = {"user": "postgres"} if os.geteuid() == 0 else {}
    if as_postgres:
        shutil.chown(directory, "postgres")
    data = directory / "data"
    initdb = [binaries[-1] / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N", "--no-locale", "-E", "UTF8"]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/", **as_postgres)
    port = _free_port()
    server = subprocess.Popen(
        [binaries[-1] / "postgres", "-D", data, "-p", str(port), "-k", directory, "-c", "fsync=off"],
        stderr=subprocess.DEVNULL, cwd="/", **as_postgres,
    )  # fmt: skip
    try:
        url = f"postgresql://postgres@127.0.0.1:{port}"
        _wait_until_it_answers(url)
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # fast: it does not wait for clients that tests have left behind
        server.wait(START_SECONDS)
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def new_database(server: str) -> Iterator[str]:
    """A database of its own, by the URL the configuration names it with; gone when the block ends."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{server}/{name}".replace("postgresql://", "postgresql+psycopg://")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A database for one test."""
    with new_database(postgres_server) as url:
        yield url


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(f"{url}/postgres").close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """Each test once on either database; None is the SQLite file."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
