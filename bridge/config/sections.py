"""What a configuration consists of: one model for each section, each beside the feature it belongs to."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, SecretStr, create_model

from agent.config import AgentConfig
from bridge.errors import ConfigError
from bridge.files.config import UploadsConfig
from bridge.gateway.config import GatewayConfig
from bridge.inbox.config import InboxConfig
from bridge.persistence.config import DatabaseConfig
from bridge.runs.config import RunsConfig
from bridge.transcription.config import TranscriptionConfig
from channels.contract import ChannelSection
from channels.registry import PLUGINS

_SECRET_WORDS = ("key", "token", "secret", "password", "authorization")


class ChannelSections(BaseModel):
    """The `channels` section: one section for each channel of the registry, as attributes of their names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def all(self) -> Mapping[str, ChannelSection]:
        """Every channel's section by its name."""
        return dict(self)

    def enabled(self) -> Mapping[str, ChannelSection]:
        """The sections of the channels that are to run."""
        return {name: section for name, section in self.all().items() if section.enabled}


def _registered() -> type[ChannelSections]:
    models: dict[str, Any] = {name: plugin.config_model() for name, plugin in PLUGINS.items()}
    fields: dict[str, Any] = {name: (model, model()) for name, model in models.items()}
    return create_model("ChannelSections", __base__=ChannelSections, **fields)


_RegisteredSections = _registered()


class HouseSections(BaseModel):
    """The keys of the file that are the house's; those of `AgentConfig` stand beside them on the same level."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    home: Path = Path(".threadbridge")
    database: DatabaseConfig = DatabaseConfig()
    gateway: GatewayConfig = GatewayConfig()
    runs: RunsConfig = RunsConfig()
    inbox: InboxConfig = InboxConfig()
    uploads: UploadsConfig = UploadsConfig()
    transcription: TranscriptionConfig = TranscriptionConfig()
    if TYPE_CHECKING:
        channels: ChannelSections
    else:
        channels: _RegisteredSections = _RegisteredSections()


@dataclass(frozen=True, slots=True)
class Config:
    """All that was configured, checked and complete. `home` is absolute; `source` is None where there is no file."""

    source: Path | None
    home: Path
    database: DatabaseConfig
    gateway: GatewayConfig
    channels: ChannelSections
    runs: RunsConfig
    inbox: InboxConfig
    uploads: UploadsConfig
    transcription: TranscriptionConfig
    agent: AgentConfig
    warnings: tuple[str, ...] = ()
    """What works otherwise than written, for the log and `config check`."""

    def with_only(self, names: Collection[str]) -> "Config":
        """The same with every other channel switched off. Raises ConfigError for a channel that is not enabled."""
        enabled = self.channels.enabled()
        if unknown := [name for name in names if name not in enabled]:
            raise ConfigError(f"--only {unknown[0]}: enabled are {', '.join(enabled) or 'no channels'}")
        off = {name: enabled[name].model_copy(update={"enabled": False}) for name in enabled.keys() - set(names)}
        return replace(self, channels=self.channels.model_copy(update=off))

    def secrets(self) -> frozenset[str]:
        """Every configured value that must not be seen, to be masked wherever text leaves the program."""
        sections = (self.database, self.gateway, self.channels, self.transcription, self.agent)
        found = {secret for section in sections for secret in _secrets(section)}
        password = urlsplit(self.database.address or "").password
        return frozenset(found | {password} if password else found)


def _secrets(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, str):
        if key.casefold().endswith(_SECRET_WORDS):  # keys that go to a model class as they are
            yield value
    elif isinstance(value, BaseModel):
        for field, item in value:
            yield from _secrets(item, field)
    elif isinstance(value, Mapping):
        for name, item in cast("Mapping[object, object]", value).items():
            yield from _secrets(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item, key)
