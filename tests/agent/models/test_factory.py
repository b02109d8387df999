"""Which model is chosen, and what its class is built with."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr, ValidationError

from agent.errors import ModelNotConfigured
from agent.models import ChatOpenAICompatible, DemoChatModel, ModelConfig, build_model, choose_model
from agent.models.config import DEMO_MODEL


def config(**keys: Any) -> ModelConfig:
    return ModelConfig.model_validate({"name": "main", "model": "m-1", "api_key": "sk-secret", **keys})


def test_the_first_model_is_the_default_and_a_known_name_is_taken() -> None:
    models = [config(), config(name="second")]
    assert choose_model(models) is models[0]
    assert choose_model(models, "second") is models[1]


def test_an_unknown_name_gives_the_first_model_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    models = [config()]
    assert choose_model(models, "gone") is models[0]
    assert "gone" in caplog.text


def test_no_models_at_all_give_the_demo_model() -> None:
    assert isinstance(build_model(choose_model([])), DemoChatModel)


def test_the_lean_class_is_the_default_and_does_not_retry_itself() -> None:
    model = build_model(config(base_url="http://models.invalid/v1"))
    assert type(model) is ChatOpenAICompatible
    assert (model.model_name, model.max_retries, model.stream_usage) == ("m-1", 0, True)
    assert model.stream_chunk_timeout == 240


def test_langchains_own_class_is_built_the_same_way() -> None:
    model = build_model(config(use="langchain_openai:ChatOpenAI", temperature=0.3, max_retries=4))
    assert isinstance(model, ChatOpenAI)
    assert (model.temperature, model.max_retries, model.stream_usage) == (0.3, 4, True)


def test_api_base_is_base_url() -> None:
    model = build_model(config(api_base="http://models.invalid/v1"))
    assert isinstance(model, ChatOpenAI)
    assert model.openai_api_base == "http://models.invalid/v1"


THINKING: dict[str, Any] = {
    "supports_thinking": True,
    "extra_body": {"ttl": 5, "options": {"a": 1}},
    "when_thinking_enabled": {"extra_body": {"options": {"think": True}}, "reasoning_effort": "high"},
    "when_thinking_disabled": {"extra_body": {"options": {"think": False}}},
}


@pytest.mark.parametrize("address", ["nonsense", "localhost:8000/v1", "ftp://host/v1", "https://", ""])
def test_an_address_that_is_none_is_told(address: str) -> None:
    """Symptom: it was asked three times, and then "the model could not be reached"."""
    with pytest.raises(ValidationError, match="begins with https:// or http://"):
        ModelConfig(name="main", base_url=address)


def test_thinking_adds_its_keys_to_the_others() -> None:
    model = build_model(config(**THINKING), thinking_enabled=True)
    assert isinstance(model, ChatOpenAI)
    assert model.extra_body == {"ttl": 5, "options": {"a": 1, "think": True}}
    assert model.reasoning_effort == "high"


def test_thinking_off_sends_the_providers_off_switch() -> None:
    model = build_model(config(**THINKING))
    assert isinstance(model, ChatOpenAI)
    assert model.extra_body == {"ttl": 5, "options": {"a": 1, "think": False}}
    assert model.reasoning_effort is None


def test_thinking_is_not_asked_of_a_model_that_cannot() -> None:
    model = build_model(config(**{**THINKING, "supports_thinking": False}), thinking_enabled=True)
    assert isinstance(model, ChatOpenAI)
    assert model.reasoning_effort is None


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("langchain_nobody:ChatNobody", "pip install langchain-nobody"),
        ("agent.models:ModelConfig", "is not a BaseChatModel"),
        ("ChatOpenAI", r"package\.module:Class"),
        ("langchain_core.language_models.chat_models:BaseChatModel", "abstract"),
    ],
)
def test_a_class_that_cannot_be_built_is_told_with_the_models_name(use: str, told: str) -> None:
    with pytest.raises(ModelNotConfigured, match=told) as caught:
        build_model(config(use=use))
    assert "'main'" in str(caught.value)


def test_a_wrong_key_is_told_without_the_secret() -> None:
    with pytest.raises(ModelNotConfigured, match="temperature") as caught:
        build_model(config(temperature="hot"))
    told = f"{caught.value} {caught.value.__cause__} {caught.value.user_message}"
    assert "sk-secret" not in told


def test_a_missing_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelNotConfigured, match="'main'"):
        build_model(config(api_key=None))


def test_a_key_the_class_does_not_know_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        build_model(DEMO_MODEL.model_copy(update={"model": "x"}))
    assert "'model'" in caplog.text


def test_the_section_keeps_the_secret_and_what_it_does_not_know() -> None:
    section = config(temperature=0.5)
    assert section.provider_keys == {"temperature": 0.5}
    assert section.api_key == SecretStr("sk-secret")
    assert "sk-secret" not in repr(section)
    with pytest.raises(ValidationError):
        ModelConfig.model_validate({"name": "", "model": "m"})


def test_clients_see_neither_key_nor_address() -> None:
    info = config(base_url="http://inside", supports_vision=True).info
    assert (info.name, info.model, info.display_name, info.supports_vision) == ("main", "m-1", "main", True)
    assert "sk-secret" not in repr(info)
    assert "inside" not in repr(info)
