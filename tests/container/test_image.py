"""The image as it is run: closed, not as root, answering, healthy, and stopped without haste."""

import asyncio
import json
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.container.engine import Image
from tests.e2e.house import settings_for
from tests.simulators.model.client import ModelSimulator
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = [pytest.mark.e2e, pytest.mark.container, pytest.mark.timeout(600)]  # the build is part of it

ACCESS_TOKEN = "let-me-into-the-container"
USER = "10001"
CONFINED = ["--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=host"]


@dataclass(frozen=True, slots=True)
class Container:
    """One container on a volume and with a configuration."""

    image: Image
    name: str
    configuration: Path
    environment: Mapping[str, str]

    def start(self) -> None:
        self.image.engine.docker("run", "--detach", "--name", self.name, "--health-interval=1s", *self._options())

    def once(self, *command: str) -> str:
        """Another container on the same volume; what `command` of the program printed there."""
        return self.image.engine.docker("run", "--rm", *self._options(), *command)

    def backup(self) -> str:
        """What a tar of the volume holds, made as docs/container.md says."""
        command = ["-c", "tar -C /data -c . | tar -t"]
        return self.image.engine.docker("run", "--rm", "--entrypoint=sh", *self._options(), *command)

    def execute(self, *command: str) -> str:
        return self.image.engine.docker("exec", self.name, *command)

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.image.engine.docker("inspect", "--format={{json .State}}", self.name))
        return state

    def log(self) -> str:
        done = self.image.engine.attempt("logs", self.name)
        return done.stdout + done.stderr

    async def healthy(self) -> None:
        deadline = time.monotonic() + 60
        while (state := self.state())["Health"]["Status"] != "healthy":
            assert state["Running"], self.log()
            assert time.monotonic() < deadline, f"{state['Health']} {self.log()}"
            await asyncio.sleep(0.25)

    def _options(self) -> list[str]:
        environment = [f"--env={key}={value}" for key, value in self.environment.items()]
        mounts = [f"--volume={self.name}:/data", f"--volume={self.configuration}:/config/config.yaml:ro"]
        return [*CONFINED, *environment, *mounts, self.image.name]


@contextmanager
def container(image: Image, configuration: Path, environment: Mapping[str, str]) -> Iterator[Container]:
    contained = Container(image, f"test-{uuid.uuid4().hex[:8]}", configuration, environment)
    try:
        yield contained
    finally:
        image.engine.attempt("rm", "--force", contained.name)
        image.engine.attempt("volume", "rm", "--force", contained.name)


async def test_the_image_answers_a_message_confined_and_unprivileged_and_stops_when_told(image, tmp_path):
    _assert_closed_without_a_token(image)
    _assert_labelled_and_lean(image)
    port = _free_port()
    async with TelegramSimulator() as telegram, ModelSimulator() as model:
        settings = settings_for(telegram, model, None)
        settings["channels"]["telegram"]["bot_token"] = "$TELEGRAM_BOT_TOKEN"
        environment = {
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "THREADBRIDGE_ACCESS_TOKEN": ACCESS_TOKEN,
            "THREADBRIDGE_GATEWAY_PORT": str(port),
        }
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings))
        with container(image, tmp_path / "config.yaml", environment) as contained:
            contained.start()
            await _assert_answers(telegram)
            await contained.healthy()
            await _assert_open_to_the_token_alone(f"http://127.0.0.1:{port}")
            _assert_unprivileged(contained)
            _assert_stops_gracefully(contained)
            assert {"./threadbridge.db", "./checkpoints.db"} <= set(contained.backup().splitlines())
            assert "0 waiting, 0 buried" in contained.once("db", "status"), "the next container finds it all"
            assert [
                secret for secret in (telegram.token, ACCESS_TOKEN, model.api_key) if secret in contained.log()
            ] == []
        assert await telegram.violations() == []
        assert await model.violations() == []


def _assert_closed_without_a_token(image: Image) -> None:
    refused = image.engine.attempt("run", "--rm", "--network=none", image.name)
    assert refused.returncode == 2
    assert "host 0.0.0.0 is reachable from other machines" in refused.stderr
    assert "$THREADBRIDGE_ACCESS_TOKEN" in refused.stderr


def _assert_labelled_and_lean(image: Image) -> None:
    described = json.loads(image.engine.docker("image", "inspect", "--format={{json .Config}}", image.name))
    assert described["Labels"]["org.opencontainers.image.version"] == "1.2.3"
    assert list(described["Volumes"]) == ["/data"]
    look = (
        "import importlib.util, pathlib, bridge; "
        "lean = [importlib.util.find_spec(name) is None for name in ('pip', 'hatchling', 'pytest', 'ruff', 'tests')]; "
        "site = pathlib.Path(bridge.__file__).parents[1]; "
        "sources = {path.with_suffix('').name for path in site.glob('bridge/*.py')}; "
        "compiled = {path.name.partition('.')[0] for path in site.glob('bridge/__pycache__/*.pyc')}; "
        "print(all(lean), bool(sources), sources == compiled)"
    )
    said = image.engine.docker("run", "--rm", "--network=none", "--entrypoint=python", image.name, "-c", look)
    assert said == "True True True"


async def _assert_answers(telegram: TelegramSimulator) -> None:
    ana = await telegram.person()
    await ana.send("[bench id=boxed n=60 tps=100 ttft=0 tool=none] hello")
    chat = await telegram.wait_for(ana.id, lambda view: any("END" in m.text for m in view.messages), 60)
    assert chat.messages[-1].text.startswith("boxed ")


async def _assert_open_to_the_token_alone(url: str) -> None:
    headers = {"X-Api-Key": ACCESS_TOKEN}
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{url}/") as refused:
            assert refused.status == 401
        async with session.get(f"{url}/", headers=headers) as page:
            assert (page.status, page.content_type) == (200, "text/html")
        async with session.get(f"{url}/health") as health:
            assert (await health.json())["status"] == "ok"


def _assert_unprivileged(contained: Container) -> None:
    assert contained.execute("id", "-u") == USER
    files = contained.execute("find", "/data", "-type", "f", "-printf", "%U %p\\n").splitlines()
    assert f"{USER} /data/threadbridge.db" in files
    assert {line.split()[0] for line in files} == {USER}


def _assert_stops_gracefully(contained: Container) -> None:
    contained.image.engine.docker("stop", "--time=45", contained.name)
    assert (contained.state()["Status"], contained.state()["ExitCode"]) == ("exited", 0), contained.log()
    assert "stopping" in contained.log()
    assert "Traceback" not in contained.log()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
