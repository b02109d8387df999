"""The `channels.telegram` section."""

from typing import Self

from pydantic import Field, SecretStr, model_validator

from channels.contract import Access, ChannelSection


class TelegramConfig(ChannelSection):
    """A Telegram bot. `base_url` is the Bot API server (one's own server works too)."""

    access: Access = Access.PAIRING
    bot_token: SecretStr | None = None
    base_url: str = "https://api.telegram.org"
    poll_timeout_seconds: int = Field(default=25, ge=1, le=50)
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
        if self.enabled and self.bot_token is None:
            raise ValueError("bot_token is missing; get one from @BotFather and put it into $TELEGRAM_BOT_TOKEN")
        return self
