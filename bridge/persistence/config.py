"""The `database` section of the configuration."""

from pydantic import BaseModel, ConfigDict, SecretStr, field_validator

_POSTGRESQL = "postgresql+psycopg://"


class DatabaseConfig(BaseModel):
    """Where the tables are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: SecretStr | None = None
    """`postgresql+psycopg://user:password@host/database`; None is SQLite in `home`."""

    @field_validator("url")
    @classmethod
    def _is_postgresql(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(_POSTGRESQL):
            raise ValueError(f"must begin with {_POSTGRESQL}; for SQLite in `home` leave it null")
        return url

    @property
    def address(self) -> str | None:
        """The url in clear, for who connects."""
        return self.url.get_secret_value() if self.url else None
