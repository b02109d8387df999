"""What a run's calls of models have cost, as far as the providers say."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from bridge.runs.records import ModelUsage

_UNNAMED = "model"


class UsageMeter:
    """Counts each answer of a model once, by its message's id: after a crash finished steps are seen again."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, ModelUsage]] = {}

    def note(self, message: AIMessage) -> None:
        """Count this answer."""
        if not message.id:
            return
        told = message.usage_metadata
        usage = ModelUsage(calls=1)
        if told is not None:
            usage = ModelUsage(1, 1, told["input_tokens"], told["output_tokens"])
        self._calls[message.id] = (_model_of(message.response_metadata), usage)

    def by_model(self) -> Mapping[str, ModelUsage]:
        """The sums so far, by the provider's name of the model."""
        sums: dict[str, ModelUsage] = {}
        for model, usage in self._calls.values():
            sums[model] = sums.get(model, ModelUsage()) + usage
        return sums


def _model_of(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get("model_name") or metadata.get("model") or _UNNAMED)
