"""What the commands say and with which code they end."""

import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_version_is_the_projects(threadbridge):
    done = threadbridge("version")
    assert done.returncode == 0
    assert done.stdout.strip() == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_version_loads_neither_the_agent_nor_the_configuration():
    command = [sys.executable, "-X", "importtime", "-m", "bridge", "version"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert "typer" in done.stderr
    assert not [name for name in ("langchain_core", "langgraph", "bridge.config", "aiohttp") if name in done.stderr]


def test_an_unknown_command_is_a_usage_error(threadbridge):
    done = threadbridge("srve")
    assert done.returncode == 2
    assert "srve" in done.stderr


def test_config_check_says_what_there_is(threadbridge, tmp_path):
    done = threadbridge("config", "check")
    assert done.returncode == 0
    assert f"home      {tmp_path}/.threadbridge" in done.stdout
    assert "models    demo (built in)" in done.stdout
    assert "channels  web" in done.stdout


def test_config_check_warns_of_a_model_that_is_left_out(threadbridge, tmp_path):
    (tmp_path / "config.yaml").write_text("models: [{name: a}, {name: b, api_key: $NOT_SET}]")
    done = threadbridge("config", "check")
    assert done.returncode == 0
    assert "models[1] is left out: its api_key needs NOT_SET" in done.stderr


def test_every_command_refuses_a_wrong_configuration_with_code_2_and_one_paragraph(threadbridge, tmp_path):
    (tmp_path / "config.yaml").write_text("gatway: {}\n")
    for command in (["serve"], ["chat"], ["doctor"], ["config", "check"], ["inbox", "list"], ["db", "status"]):
        done = threadbridge(*command)
        assert done.returncode == 2, command
        assert done.stderr == "threadbridge: config.yaml:1:1: gatway: there is no such key. Did you mean 'gateway'?\n"


def test_the_configuration_may_be_named_before_or_after_the_command(threadbridge, tmp_path):
    (tmp_path / "mine.yaml").write_text("channels: {web: {enabled: false}}")
    before = threadbridge("--config", "mine.yaml", "config", "check")
    after = threadbridge("config", "check", "--config", "mine.yaml")
    assert before.stdout == after.stdout
    assert "mine.yaml: fine" in before.stdout
    assert "channels  none" in before.stdout


def test_an_env_file_reaches_what_libraries_read_for_themselves(threadbridge, tmp_path):
    (tmp_path / "config.yaml").write_text("models: [{name: a, use: 'langchain_openai:ChatOpenAI', model: gpt-5}]")
    assert threadbridge("doctor").returncode == 1
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-from-file\n")
    done = threadbridge("doctor")
    assert "ok    model a: langchain_openai:ChatOpenAI" in done.stdout


def test_only_keeps_the_other_channels_from_starting_and_refuses_one_that_is_not_enabled(threadbridge):
    done = threadbridge("serve", "--only", "telegram")
    assert done.returncode == 2
    assert "--only telegram: enabled are web" in done.stderr


def test_a_model_that_cannot_be_built_ends_serve_with_one_paragraph(threadbridge, tmp_path):
    (tmp_path / "config.yaml").write_text("gateway: {port: 0}\nmodels: [{name: a, use: 'nowhere_at_all:Model'}]")
    done = threadbridge("serve")
    assert done.returncode == 2
    last_line = done.stderr.strip().splitlines()[-1]
    assert last_line.startswith("threadbridge: ")
    assert "pip install nowhere-at-all" in last_line
    assert "Traceback" not in done.stderr


def test_doctor_finds_everything_well_in_an_empty_folder(threadbridge, tmp_path):
    (tmp_path / "config.yaml").write_text("gateway: {port: 0}")
    done = threadbridge("doctor")
    assert done.returncode == 0, done.stdout
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"ok"}
    for subject in ("configuration", "home", "database", "port", "model demo", "channel web"):
        assert f"ok    {subject}: " in done.stdout


def test_doctor_names_what_is_wrong_and_fails(threadbridge, tmp_path):
    (tmp_path / "home").write_text("not a folder")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "config.yaml").write_text(
            f"home: home\ngateway: {{port: {port}}}\nchannels: {{web: {{enabled: false}}}}\n"
            "models: [{name: a, use: 'nowhere_at_all:Model'}]\n"
            "database: {url: 'postgresql+psycopg://bot:hunter2@127.0.0.1:1/none'}\n"
        )
        done = threadbridge("doctor")
    assert done.returncode == 1
    assert f"FAIL  home: the folder {tmp_path}/home cannot be used: it is a file" in done.stdout
    assert "FAIL  database: the database postgresql://127.0.0.1:1/none cannot be used" in done.stdout
    assert f"warn  port: 127.0.0.1:{port}: Address already in use" in done.stdout
    assert "FAIL  model a: " in done.stdout
    assert "warn  channels: none is enabled" in done.stdout
    assert "hunter2" not in done.stdout + done.stderr


def test_doctor_finds_no_database_well_in_a_home_that_cannot_be_used(threadbridge, tmp_path):
    """Symptom: it said `ok database` about a file that could never be made."""
    (tmp_path / "home").write_text("not a folder")
    (tmp_path / "config.yaml").write_text("home: home\ngateway: {port: 0}\nchannels: {web: {enabled: false}}\n")
    said = threadbridge("doctor").stdout
    assert f"FAIL  database: it would lie in {tmp_path}/home, which cannot be used" in said
    assert "ok    database" not in said


@pytest.mark.parametrize("command", [["serve"], ["chat"]])
@pytest.mark.parametrize(("home", "reason"), [("taken", "it is a file"), ("taken/below", "Not a directory")])
def test_a_home_that_cannot_be_used_is_named_with_what_to_do(threadbridge, tmp_path, command, home, reason):
    (tmp_path / "taken").write_text("not a folder")
    (tmp_path / "config.yaml").write_text(f"home: {home}\ngateway: {{port: 0}}\n")
    done = threadbridge(*command)
    assert done.returncode == 1
    last_line = done.stderr.strip().splitlines()[-1]
    assert last_line.startswith(f"threadbridge: home: the folder {tmp_path}/{home} cannot be used: {reason}. ")
    assert "$THREADBRIDGE_HOME" in last_line
    assert "Traceback" not in done.stderr


def test_a_folder_of_a_channel_that_cannot_be_used_is_named_too(threadbridge, tmp_path):
    (tmp_path / ".threadbridge" / "channels").mkdir(parents=True)
    (tmp_path / ".threadbridge" / "channels" / "web").write_text("not a folder")
    (tmp_path / "config.yaml").write_text("gateway: {port: 0}\n")
    done = threadbridge("serve")
    assert done.returncode == 1
    assert f"home: the folder {tmp_path}/.threadbridge/channels/web cannot be used: it is a file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_ends_serve_with_its_key_and_what_to_do(threadbridge, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "config.yaml").write_text(f"gateway: {{port: {port}}}\n")
        done = threadbridge("serve")
    assert done.returncode == 1
    last_line = done.stderr.strip().splitlines()[-1]
    assert last_line.startswith(f"threadbridge: gateway.port: 127.0.0.1:{port} is taken by another program")
    assert "Traceback" not in done.stderr
