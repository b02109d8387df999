"""The `gateway` section of the configuration."""

from ipaddress import ip_address
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    model_validator,
)


def _empty_means_none(value: object) -> object:
    """An environment variable that is set to nothing sets no token."""
    return None if isinstance(value, str) and not value.strip() else value


class GatewayConfig(BaseModel):
    """Where the HTTP server listens and who may use it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8001
    """0 takes any free port."""
    access_token: Annotated[SecretStr | None, BeforeValidator(_empty_means_none)] = None
    keepalive_seconds: PositiveFloat = 5.0
    """Between two bytes on a connection that waits, so that neither a client nor a proxy gives up."""
    disconnect_grace_seconds: PositiveFloat = 10.0
    """A run started with `on_disconnect: cancel` is cancelled when its reader has not come back for so long."""
    stalled_client_seconds: PositiveFloat = 60.0
    """A client that takes nothing, or does not finish its request, for so long is cut off."""
    body_limit_bytes: PositiveInt = 4 * 1024 * 1024
    """Of a JSON body. Uploads have limits of their own."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the server."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @model_validator(mode="after")
    def _closed_beyond_loopback(self) -> Self:
        if self.access_token is None and not self.is_loopback:
            raise ValueError(
                f"host {self.host} is reachable from other machines: set gateway.access_token or "
                "$THREADBRIDGE_ACCESS_TOKEN (openssl rand -hex 32), or set gateway.host to 127.0.0.1"
            )
        return self
