"""A platform's limits and abilities, as data."""

from dataclasses import dataclass, field
from enum import StrEnum

from channels.contract.conversation import ChatKind


class TextUnit(StrEnum):
    """What a platform counts when it limits a text."""

    UTF16 = "utf16"
    CODEPOINTS = "codepoints"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Pace:
    """How often one chat may be updated: at least `interval_seconds` apart, and at most `per_minute` in any minute."""

    interval_seconds: float
    per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class ChannelCapabilities:
    """What the house must know beforehand so that the platform never has to refuse."""

    text_limit: int
    text_unit: TextUnit
    upload_limit_bytes: int
    download_limit_bytes: int
    pace: dict[ChatKind, Pace] = field(default_factory=dict)
    streams: bool = True
    activity_refresh_seconds: float = 4.0
