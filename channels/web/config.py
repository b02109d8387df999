"""The `channels.web` section."""

from channels.contract import Access, ChannelSection


class WebConfig(ChannelSection):
    """The page of our own, on the gateway's port. Who reaches the gateway may use it, so `access` is open unless said otherwise."""

    enabled: bool = True
    access: Access = Access.OPEN
