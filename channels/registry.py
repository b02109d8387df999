"""Which channels there are: name → configuration model and adapter, loaded only when asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast

from channels.contract import Channel, ChannelSection


@dataclass(frozen=True, slots=True)
class ChannelPlugin:
    """One channel by import paths (`package.module:Name`), so that a platform's SDK loads only when the channel is enabled.

    `adapter` is None for a channel whose section is already understood but whose door is not built yet.
    """

    name: str
    config: str
    adapter: str | None

    def config_model(self) -> type[ChannelSection]:
        """The model of the channel's section of the configuration (cheap to import)."""
        return cast("type[ChannelSection]", _load(self.config))

    def build(self, section: ChannelSection, **resources: Any) -> Channel:
        """Import the adapter, and with it the platform's SDK (slow: call it off the event loop), and make the channel."""
        if self.adapter is None:
            raise LookupError(f"channel {self.name!r} has no adapter")
        return cast("Channel", _load(self.adapter)(section, **resources))


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


PLUGINS: Mapping[str, ChannelPlugin] = MappingProxyType(
    {
        plugin.name: plugin
        for plugin in (
            ChannelPlugin(
                "telegram", "channels.telegram.config:TelegramConfig", "channels.telegram.adapter:TelegramChannel"
            ),
            ChannelPlugin("slack", "channels.slack.config:SlackConfig", None),
            ChannelPlugin("feishu", "channels.feishu.config:FeishuConfig", None),
            ChannelPlugin("web", "channels.web.config:WebConfig", "channels.web.adapter:WebChannel"),
        )
    }
)
