"""Builds the chat model that a configuration entry names."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from pydantic import SecretStr, ValidationError

from agent.class_path import load_class
from agent.errors import ClassNotLoaded, ModelNotConfigured
from agent.models.coalescing import coalescing
from agent.models.config import DEMO_MODEL, ModelConfig

_log = logging.getLogger(__name__)

_OPENAI_DEFAULTS: Mapping[str, Any] = {
    "stream_usage": True,
    "stream_chunk_timeout": 240.0,  # seconds; reasoning models think for minutes before the first token
    "max_retries": 0,  # the middleware retries: it knows Retry-After, tells the person, and counts once
}


def choose_model(models: Sequence[ModelConfig], requested: str | None = None) -> ModelConfig:
    """Give the model of that name, else the first one; the demo model if none is configured.

    A name nobody knows is a stale choice of some page, no reason to fail: it is logged.
    """
    if not models:
        return DEMO_MODEL
    for model in models:
        if model.name == requested:
            return model
    if requested is not None:
        _log.warning("no model is called %r, taking %r", requested, models[0].name)
    return models[0]


def build_model(config: ModelConfig, *, thinking_enabled: bool = False) -> BaseChatModel:
    """Build the model, with the keys for thinking on or off; a model that cannot think is built with it off.

    Raises `ModelNotConfigured`, with what to do about it, if the class cannot be loaded or refuses the keys.
    """
    try:
        model_class = coalescing(load_class(config.use, BaseChatModel))  # type: ignore[type-abstract]  # only a bound
    except ClassNotLoaded as error:
        raise ModelNotConfigured(f"model {config.name!r}: {error}") from error
    keys = _keys(config, model_class, thinking_enabled=thinking_enabled and config.supports_thinking)
    try:
        return model_class(**keys)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, detail['loc'])) or 'entry'}: {detail['msg']}" for detail in error.errors()
        )
        raise ModelNotConfigured(f"model {config.name!r}: {wrong}") from None  # the cause would quote the key
    except Exception as error:
        raise ModelNotConfigured(f"model {config.name!r}: {error}") from error


def _keys(config: ModelConfig, model_class: type[BaseChatModel], *, thinking_enabled: bool) -> dict[str, Any]:
    known = _key_names(model_class)
    keys = {key: value for key, value in _OPENAI_DEFAULTS.items() if key in known}
    keys |= {key: value for key, value in _own_keys(config).items() if value is not None}
    keys = _merged(keys, config.provider_keys)
    keys = _merged(keys, config.when_thinking_enabled if thinking_enabled else config.when_thinking_disabled)
    for key in keys.keys() - known:
        _log.warning("model %r: %s does not know the key %r", config.name, model_class.__name__, key)
    return keys


def _own_keys(config: ModelConfig) -> dict[str, str | SecretStr | None]:
    return {"model": config.model, "api_key": config.api_key, "base_url": config.base_url}


def _key_names(model_class: type[BaseChatModel]) -> set[str]:
    names = set(model_class.model_fields)
    return names | {field.alias for field in model_class.model_fields.values() if field.alias}


def _merged(keys: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Merge level by level, so that two parts of one `extra_body` add up instead of one hiding the other."""
    merged = dict(keys)
    for key, value in more.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
