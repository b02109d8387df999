"""The compose files, as Compose reads them and as the program takes what they give it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.config import load_config

ROOT = Path(__file__).parents[2]
FILES = ("compose.yaml", "compose.postgres.yaml")
SECRETS = {"THREADBRIDGE_ACCESS_TOKEN": "tok-1", "POSTGRES_PASSWORD": "p@ss/word", "OPENAI_API_KEY": "sk-1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What docs/container.md tells to prepare."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    shutil.copy(ROOT / "config.example.yaml", tmp_path / "config.yaml")
    (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in SECRETS.items()))
    return tmp_path


@pytest.fixture(scope="session")
def compose() -> list[str]:
    """The command: the plug-in of newer engines, or Debian's older one, which reads the same files."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if (
            shutil.which(command[0])
            and subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0
        ):
            return command
    pytest.skip("neither docker compose nor docker-compose is installed")


@pytest.mark.parametrize("file", FILES)
def test_the_configuration_is_in_order_with_what_compose_gives_the_container(folder, compose, file):
    service = _read(compose, folder, file)["services"]["bridge"]
    environ = {**_of_the_image(), **_texts(service["environment"])}
    checked = subprocess.run(
        [sys.executable, "-m", "bridge", "config", "check"], cwd=folder,
        env={"PATH": os.environ["PATH"], **environ}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stderr
    assert "home      /data" in checked.stdout
    config = load_config(folder / "config.yaml", environ)
    assert config.gateway.access_token.get_secret_value() == SECRETS["THREADBRIDGE_ACCESS_TOKEN"]
    assert (config.gateway.host, config.gateway.port) == ("0.0.0.0", 8001)
    database = "postgresql+psycopg://threadbridge@postgres/threadbridge" if "postgres" in file else None
    assert config.database.address == database


def test_postgres_is_waited_for_and_has_the_password_the_program_uses(folder, compose):
    services = _read(compose, folder, "compose.postgres.yaml")["services"]
    bridge, postgres = services["bridge"], services["postgres"]
    assert bridge["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert "pg_isready" in postgres["healthcheck"]["test"]
    given, expected = _texts(bridge["environment"])["PGPASSWORD"], _texts(postgres["environment"])["POSTGRES_PASSWORD"]
    assert given == expected == SECRETS["POSTGRES_PASSWORD"]


@pytest.mark.parametrize(
    ("file", "missing"), [(FILES[0], "THREADBRIDGE_ACCESS_TOKEN"), (FILES[1], "POSTGRES_PASSWORD")]
)
def test_compose_refuses_to_start_without_the_secrets_and_says_how_to_make_one(folder, compose, file, missing):
    kept = {name: value for name, value in SECRETS.items() if name != missing}
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in kept.items()))
    refused = _compose(compose, folder, file)
    assert refused.returncode != 0
    assert "openssl rand -hex 32" in refused.stderr


@pytest.mark.parametrize("file", FILES)
def test_the_program_keeps_its_one_volume_is_confined_and_reached_from_this_machine_alone(file):
    service = _merged(file)
    assert service["volumes"] == ["data:/data"]
    assert (service["read_only"], service["cap_drop"], service["restart"]) == (True, ["ALL"], "unless-stopped")
    assert service["ports"] == ["127.0.0.1:8001:8001"]
    declared = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))
    assert {"data"} <= declared["volumes"].keys()
    assert declared["configs"] == {"config": {"file": "./config.yaml"}}


@pytest.mark.parametrize("file", FILES)
def test_a_stop_waits_for_as_long_as_the_program_may_take(file):
    drain = load_config(ROOT / "config.example.yaml", {}).runs.drain_seconds
    assert int(_merged(file)["stop_grace_period"].removesuffix("s")) > 2 * drain


def _read(compose: list[str], folder: Path, file: str) -> dict[str, Any]:
    done = _compose(compose, folder, file)
    assert done.returncode == 0, done.stderr
    model: dict[str, Any] = yaml.safe_load(done.stdout)
    return model


def _compose(compose: list[str], folder: Path, file: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name not in SECRETS}
    return subprocess.run(
        [*compose, "-f", file, "config"], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


def _merged(file: str) -> dict[str, Any]:
    """The service `bridge` with what it extends, as far as these tests look at it."""
    service: dict[str, Any] = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["services"]["bridge"]
    extended = service.pop("extends", None)
    if extended is None:
        return service
    assert extended["service"] == "bridge"
    return {**_merged(extended["file"]), **service}


def _of_the_image() -> dict[str, str]:
    """The variables of our own that the Dockerfile sets."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    return dict(re.findall(r"(THREADBRIDGE_\w+)=(\S+)", text))


def _texts(environment: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in environment.items()}
