"""What time it is: passed in, so that tests need not sleep."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

Clock = Callable[[], datetime]

LONGEST_SECONDS: Final = 10 * 365 * 86_400
"""Ten years, the longest time a setting may name: a moment much further off is no date any more."""


def utc_now() -> datetime:
    """The present moment, with its zone."""
    return datetime.now(UTC)
