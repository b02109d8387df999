"""What time it is: passed in, so that tests need not sleep."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The present moment, with its zone."""
    return datetime.now(UTC)
