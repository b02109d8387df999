"""What the agent's tests share."""

from tests.databases import database_url, postgres_server, postgres_url

__all__ = ["database_url", "postgres_server", "postgres_url"]
