"""What the image is built from where no registry of images is reached: a Debian base and wheels, made once and kept in `artifacts/`."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
_KEPT = ROOT / "artifacts" / "container"
_PACKAGES = "python3,python3-venv,ca-certificates,passwd"


class NotHere(Exception):
    """This machine lacks a program that is needed; the message names it."""


def base() -> Path:
    """A tar of the root of a small Debian 12 with its Python 3.11. Raises NotHere."""
    if shutil.which("mmdebstrap") is None:
        raise NotHere("mmdebstrap is not installed (apt-get install mmdebstrap)")

    def bootstrap(tar: Path) -> None:
        options = ["--quiet", "--variant=essential", "--dpkgopt=force-unsafe-io", f"--include={_PACKAGES}"]
        subprocess.run(["mmdebstrap", *options, "--format=tar", "bookworm", tar], check=True)

    return _kept("bookworm.tar", bootstrap)


def wheels() -> Path:
    """The folder with every wheel of requirements.lock. Raises NotHere."""
    if find_spec("pip") is None:
        raise NotHere("this environment has no pip (make dev sets one up that has)")
    lock = ROOT / "requirements.lock"

    def download(folder: Path) -> None:
        options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--require-hashes"]
        pip = [sys.executable, "-m", "pip", "download", *options, "--requirement", lock, "--dest", folder]
        subprocess.run(pip, check=True)

    return _kept(f"wheels-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}", download)


def _kept(name: str, make: Callable[[Path], None]) -> Path:
    place = _KEPT / name
    if not place.exists():
        _KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_KEPT) as scratch:
            made = Path(scratch) / name
            make(made)
            made.rename(place)  # whole or not at all
    return place


if __name__ == "__main__":
    for ingredient in sys.argv[1:]:
        print({"base": base, "wheels": wheels}[ingredient]())
