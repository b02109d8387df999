"""config.example.yaml and the models say the same."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from agent.config import AgentConfig
from bridge.config import load_config
from bridge.config.sections import Config, HouseSections
from bridge.config.validation import section_model

EXAMPLE = Path(__file__).parents[3] / "config.example.yaml"


@pytest.fixture(autouse=True)
def _nothing_around_it(tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_bytes(EXAMPLE.read_bytes())
    monkeypatch.chdir(tmp_path)


def test_as_shipped_it_loads_without_a_single_variable_set():
    config = load_config(None, {})
    assert config.source == Path("config.yaml")
    assert [model.name for model in config.agent.models] == ["demo"]
    assert "OPENAI_API_KEY" in config.warnings[0]


def test_with_a_key_it_has_the_model_that_needs_it():
    config = load_config(None, {"OPENAI_API_KEY": "sk-x"})
    assert [model.name for model in config.agent.models] == ["demo", "main"]
    assert config.warnings == ()


def test_it_says_the_defaults_so_that_copying_it_changes_nothing_but_the_models():
    example, defaults = load_config(None, {}), _defaults()
    different = [
        field.name for field in fields(Config) if getattr(example, field.name) != getattr(defaults, field.name)
    ]
    assert different == ["source", "agent", "warnings"]
    assert example.agent.model_copy(update={"models": ()}) == defaults.agent


def test_every_key_of_the_models_stands_in_it_and_it_has_no_other():
    written = set(_written_keys(yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))))
    assert written == {*_model_keys(HouseSections), *_model_keys(AgentConfig)}


def test_it_stays_readable():
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 250


def _defaults() -> Config:
    Path("config.yaml").rename("away.yaml")
    return load_config(None, {})


def _written_keys(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{path}.{key}".lstrip(".")
            yield from _written_keys(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _written_keys(item, path)


def _model_keys(model: type[BaseModel], path: str = "") -> Iterator[str]:
    for key, field in model.model_fields.items():
        yield f"{path}.{key}".lstrip(".")
        section = section_model(field.annotation)
        if section is not None:
            yield from _model_keys(section, f"{path}.{key}")
