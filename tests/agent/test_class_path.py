"""Classes named in the configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from langchain_core.language_models.chat_models import BaseChatModel

from agent.class_path import load_class
from agent.errors import ClassNotLoaded
from agent.models.demo import DemoChatModel


def test_a_class_is_loaded() -> None:
    assert load_class("agent.models:DemoChatModel", BaseChatModel) is DemoChatModel


@pytest.mark.parametrize(
    "use", ["", "agent.models", "agent.models.DemoChatModel", ":X", "agent.models:", "a b:C", "a:b.c"]
)
def test_another_form_is_refused(use: str) -> None:
    with pytest.raises(ClassNotLoaded, match=r"package\.module:Class"):
        load_class(use, object)


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("langchain_nobody.chat:ChatNobody", "langchain-nobody: pip install langchain-nobody"),
        ("agent.models.nothing:X", "there is no module agent.models.nothing"),
        ("agent.models:Nothing", "has no Nothing"),
        ("pathlib:Path", "is not a BaseChatModel"),
        ("agent.models:build_model", "is not a BaseChatModel"),
    ],
)
def test_the_error_says_what_is_missing(use: str, told: str) -> None:
    with pytest.raises(ClassNotLoaded, match=told):
        load_class(use, BaseChatModel)


def test_a_package_that_the_named_one_needs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_installed.py").write_text("import provider_sdk\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ClassNotLoaded, match="pip install provider-sdk"):
        load_class("half_installed:X", object)
    sys.modules.pop("half_installed", None)


def test_a_package_of_another_version_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outdated.py").write_text("from pathlib import NothingOfTheKind\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ClassNotLoaded, match="NothingOfTheKind"):
        load_class("outdated:X", object)
    sys.modules.pop("outdated", None)
