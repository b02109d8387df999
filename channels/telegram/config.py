"""The `channels.telegram` section."""

import re
from enum import StrEnum
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from channels.contract import Access, ChannelSection

_TELEGRAMS_OWN_SERVER = "api.telegram.org"
_WEBHOOK_PORTS = {None, 443, 80, 88, 8443}  # https://core.telegram.org/bots/api#setwebhook
_ID = re.compile(r"-?[0-9]+")  # groups and channels are below zero
_SECRET = re.compile(r"[A-Za-z0-9_-]{16,256}")


class Transport(StrEnum):
    """How updates come."""

    POLLING = "polling"  # the bridge asks for them; needs no address of its own
    WEBHOOK = "webhook"  # Telegram calls the gateway


class TelegramConfig(ChannelSection):
    """A Telegram bot. `base_url` is the Bot API server (one's own server works too)."""

    access: Access = Access.PAIRING
    bot_token: SecretStr | None = None
    base_url: str = "https://api.telegram.org"
    transport: Transport = Transport.POLLING
    poll_timeout_seconds: int = Field(default=25, ge=1, le=50)
    public_url: str | None = None
    """Where the gateway is reached from outside; for the webhook."""
    webhook_secret: SecretStr | None = None
    """What Telegram proves itself with; by default made from the token."""
    webhook_connections: int = Field(default=40, ge=1, le=100)
    """How many updates Telegram may bring at the same time."""
    leaves_groups: bool = True
    """Whether it goes out of a group into which somebody has put it who may not speak to it."""
    times_usual_pace: float = Field(default=1.0, gt=0, le=1000)
    """How fast messages are sent, in Telegram's own limits (one a second in a chat, 20 a minute in a group, 30 a second in all)."""
    max_messages: int = Field(default=5, ge=0)
    """An answer that takes more comes as a file; 0 sends as many messages as there are."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.access is Access.MEMBERS:
            raise ValueError(
                "access: members is not possible on Telegram, which has no workspace; use pairing, list or open"
            )
        self._check_ids()
        if self.enabled and self.bot_token is None:
            raise ValueError("bot_token is missing; get one from @BotFather and put it into $TELEGRAM_BOT_TOKEN")
        if self.enabled and self.transport is Transport.WEBHOOK:
            self._check_webhook()
        return self

    def _check_ids(self) -> None:
        for person in (*self.admins, *self.allowed_users):
            if not _ID.fullmatch(person):
                raise ValueError(
                    f"admins and allowed_users hold Telegram's ids, which are numbers, not {person!r}; "
                    "`threadbridge access list` shows those of people who have written to the bot"
                )

    def _check_webhook(self) -> None:
        if self.public_url is None:
            raise ValueError(
                "transport: webhook needs public_url, the address under which Telegram reaches the gateway"
            )
        address = urlsplit(self.public_url)
        if address.scheme not in {"http", "https"} or not address.hostname or address.query or address.fragment:
            raise ValueError("public_url must look like https://bot.example.com")
        if urlsplit(self.base_url).hostname == _TELEGRAMS_OWN_SERVER and (
            address.scheme != "https" or address.port not in _WEBHOOK_PORTS
        ):
            raise ValueError("public_url: Telegram calls https only, on port 443, 80, 88 or 8443")
        if self.webhook_secret is not None and not _SECRET.fullmatch(self.webhook_secret.get_secret_value()):
            raise ValueError(
                "webhook_secret must be 16 to 256 of A-Z a-z 0-9 _ -; without one it is made from bot_token"
            )
