"""Chat models: their configuration, the factory, and the classes of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.models.config import DEMO_MODEL, ModelConfig, ModelInfo
from agent.models.factory import build_model, choose_model

if TYPE_CHECKING:
    from agent.models.demo import DemoChatModel
    from agent.models.openai_compatible import ChatOpenAICompatible

__all__ = [
    "DEMO_MODEL",
    "ChatOpenAICompatible",
    "DemoChatModel",
    "ModelConfig",
    "ModelInfo",
    "build_model",
    "choose_model",
]


def __getattr__(name: str) -> Any:
    """Import a model class at its first use: the openai package alone takes a second to load."""
    if name == "ChatOpenAICompatible":
        from agent.models.openai_compatible import ChatOpenAICompatible

        return ChatOpenAICompatible
    if name == "DemoChatModel":
        from agent.models.demo import DemoChatModel

        return DemoChatModel
    raise AttributeError(name)
