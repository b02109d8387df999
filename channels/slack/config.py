"""The `channels.slack` section: understood and checked now, its door follows."""

from pydantic import SecretStr

from channels.contract import ChannelSection


class SlackConfig(ChannelSection):
    """A Slack app: `bot_token` (xoxb-…) speaks, `app_token` (xapp-…) listens by Socket Mode."""

    bot_token: SecretStr | None = None
    app_token: SecretStr | None = None
    base_url: str = "https://slack.com/api/"
