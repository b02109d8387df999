"""A folder with a configuration, and what the program says about it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.config import Config, load_config
from bridge.errors import ConfigError

Load = Callable[..., Config]
Complaint = Callable[..., str]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write `text` as config.yaml and load it with exactly the given environment."""

    def load_text(text: str, environ: dict[str, str] | None = None) -> Config:
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return load_config(path, environ or {})

    return load_text


@pytest.fixture
def complaint(load: Load) -> Complaint:
    """What is said about a configuration that must be refused."""

    def refused(text: str, environ: dict[str, str] | None = None) -> str:
        with pytest.raises(ConfigError) as caught:
            load(text, environ)
        return str(caught.value)

    return refused
