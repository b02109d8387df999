"""Makes the program's timers that are no settings shorter: `HASTE=<factor>` in the environment."""

from dataclasses import replace
from types import ModuleType

from channels.contract import ChannelCapabilities
from channels.telegram import drafts
from channels.telegram.adapter import TelegramChannel

_TIMERS: tuple[tuple[ModuleType, str], ...] = ((drafts, "_REFRESH_SECONDS"),)


def make(factor: float) -> None:
    """Have drafts and signs of activity shown again so many times as often."""
    for module, name in _TIMERS:
        setattr(module, name, getattr(module, name) / factor)
    usual = TelegramChannel.capabilities

    def hastened(channel: TelegramChannel) -> ChannelCapabilities:
        known = usual.__get__(channel)
        return replace(known, activity_refresh_seconds=known.activity_refresh_seconds / factor)

    TelegramChannel.capabilities = property(hastened)  # type: ignore[method-assign, assignment]
