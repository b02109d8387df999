"""The `models` section of the configuration: which chat models there are and how each is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, field_validator

LEAN_OPENAI: Final = "agent.models:ChatOpenAICompatible"


class ModelConfig(BaseModel):
    """One chat model. Keys that are not listed here go to the model class as they are (`temperature`, `timeout`, …)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field(min_length=1)
    """What runs and people call it; the first model of the list is the default."""
    use: str = LEAN_OPENAI
    """The class, as `package.module:Class`."""
    model: str | None = None
    """The provider's own name of the model."""
    display_name: str | None = None
    description: str | None = None
    api_key: SecretStr | None = None
    base_url: str | None = Field(default=None, validation_alias=AliasChoices("base_url", "api_base"))
    supports_vision: bool = False
    supports_thinking: bool = False
    when_thinking_enabled: Mapping[str, Any] = Field(default_factory=dict)
    """Keys for the model class while thinking is on, merged into the others."""
    when_thinking_disabled: Mapping[str, Any] = Field(default_factory=dict)
    """Keys while thinking is off: the provider's own off switch."""

    @field_validator("base_url")
    @classmethod
    def _check_address(cls, address: str | None) -> str | None:
        if address is not None and (urlsplit(address).scheme not in {"http", "https"} or not urlsplit(address).netloc):
            raise ValueError("an address begins with https:// or http:// and names a host, as https://host/v1 does")
        return address

    @property
    def provider_keys(self) -> dict[str, Any]:
        """The keys this section does not know."""
        return dict(self.model_extra or {})

    @property
    def info(self) -> ModelInfo:
        """What a client may know of it."""
        return ModelInfo(
            name=self.name,
            model=self.model,
            display_name=self.display_name or self.name,
            description=self.description,
            supports_vision=self.supports_vision,
            supports_thinking=self.supports_thinking,
        )


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A configured model as clients see it: no key, no address."""

    name: str
    model: str | None
    display_name: str
    description: str | None
    supports_vision: bool
    supports_thinking: bool


DEMO_MODEL: Final = ModelConfig(
    name="demo",
    use="agent.models:DemoChatModel",
    display_name="Demo model",
    description="Built in; shows what the bridge can do without a key.",
)
