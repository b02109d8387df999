"""A Docker engine: the one that answers, or one that lives as long as the tests."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.container.ingredients import NotHere

_START_SECONDS = 60.0
_STOP_SECONDS = 60.0
_NEEDED_BYTES = 4 * 1024**3


@dataclass(frozen=True, slots=True)
class Engine:
    """Where the engine listens; None is where `docker` looks by itself."""

    address: str | None = None

    def docker(self, *arguments: str | Path) -> str:
        """What the command printed; raises AssertionError with its complaint."""
        done = self.attempt(*arguments)
        assert done.returncode == 0, (
            f"docker {' '.join(map(str, arguments))}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
        )
        return done.stdout.strip()

    def attempt(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """The command, whatever it comes to."""
        # The classic builder: newer ones are a plug-in of the client that not every machine has.
        environment = {**os.environ, "DOCKER_BUILDKIT": "0"}
        if self.address:
            environment["DOCKER_HOST"] = self.address
        return subprocess.run(["docker", *arguments], env=environment, capture_output=True, text=True, check=False)

    def answers(self) -> bool:
        """Whether there is one at all."""
        return self.attempt("version", "--format", "{{.Server.Version}}").returncode == 0


@dataclass(frozen=True, slots=True)
class Image:
    """An image and the engine that has it."""

    engine: Engine
    name: str


@contextmanager
def an_engine() -> Iterator[Engine]:
    """Raises NotHere."""
    if shutil.which("docker") is None:
        raise NotHere("docker is not installed (apt-get install docker.io)")
    if (there := Engine()).answers():
        yield there
        return
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        raise NotHere("no Docker engine answers, and only root can start one (dockerd, of docker.io)")
    folder = Path(tempfile.mkdtemp(prefix="test-docker-", dir=_place()))
    try:
        with _started(folder) as engine:
            yield engine
    finally:
        _unmount_below(folder)
        shutil.rmtree(folder)


def _place() -> str:
    """Where the layers are written, each several times over: in memory where there is room. Short, for the socket in it."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > _NEEDED_BYTES else "/tmp"


def _unmount_below(folder: Path) -> None:
    """The engine leaves the network namespace of its containers mounted."""
    places = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in reversed([place for place in places if Path(place).is_relative_to(folder)]):
        subprocess.run(["umount", place], check=True)


@contextmanager
def _started(folder: Path) -> Iterator[Engine]:
    engine = Engine(f"unix://{folder}/socket")
    log = folder / "log"
    places = ["--data-root", folder / "data", "--exec-root", folder / "exec", "--pidfile", folder / "pid"]
    # Without a network of its own it changes nothing on the machine; containers use the host's.
    network = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["dockerd", "--host", engine.address, *places, *network], stdout=output, stderr=output
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not engine.answers():
            assert process.poll() is None, f"dockerd ended: {log.read_text()[-4000:]}"
            assert time.monotonic() < deadline, f"dockerd does not answer: {log.read_text()[-4000:]}"
            time.sleep(0.1)
        yield engine
    finally:
        process.terminate()
        process.wait(_STOP_SECONDS)
