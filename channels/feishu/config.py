"""The `channels.feishu` section: understood and checked now, its door follows."""

from pydantic import SecretStr

from channels.contract import ChannelSection


class FeishuConfig(ChannelSection):
    """A Feishu or Lark app; `domain` chooses which (https://open.feishu.cn or https://open.larksuite.com)."""

    app_id: str | None = None
    app_secret: SecretStr | None = None
    domain: str = "https://open.feishu.cn"
