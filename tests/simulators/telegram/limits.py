"""Flood control: token buckets per chat, per group and overall; whoever is told to wait has to wait."""

import math
import time
from dataclasses import dataclass, field

from ..clock import ScaledClock
from .errors import flooded

_MESSAGES = {
    "sendMessage", "editMessageText", "editMessageCaption", "editMessageMedia", "editMessageReplyMarkup", "sendPhoto",
    "sendDocument", "sendAudio", "sendVideo", "sendVoice", "sendAnimation", "sendMediaGroup",
}  # fmt: skip
_DRAFTS = {"sendMessageDraft"}
_LONGEST_EXTENSION_SECONDS = 60
_IN_FLIGHT_SECONDS = 0.2  # of wall time: a call already under way when the first refusal was written


@dataclass(slots=True)
class _Bucket:
    per_second: float
    burst: float
    level: float = field(init=False)
    filled_at: float = 0.0
    banned_until: float = 0.0
    banned_since_wall: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.burst

    def refill(self, now: float) -> None:
        self.level = min(self.burst, self.level + (now - self.filled_at) * self.per_second)
        self.filled_at = now


class RateLimits:
    """About 1 message a second per chat, 20 a minute per group (edits count), 30 a second overall, 2 drafts a second."""

    def __init__(self, clock: ScaledClock, *, enforced: bool) -> None:
        self._clock = clock
        self._enforced = enforced
        self._buckets: dict[tuple[str, int], _Bucket] = {}

    def charge(self, method: str, chat_id: int, weight: int = 1) -> None:
        """Count a call; raises the 429 of the strictest limit that it passes."""
        now = self._clock.now()
        buckets = self._applicable(method, chat_id, limited=self._enforced)
        for bucket in buckets:
            self._refuse_during_ban(bucket, now)
            bucket.refill(now)
        lacking = [bucket for bucket in buckets if bucket.level < min(weight, bucket.burst)]
        if lacking and self._enforced:
            waits = [(min(weight, bucket.burst) - bucket.level) / bucket.per_second for bucket in lacking]
            self._ban(lacking[0], math.ceil(max(waits)))
        if self._enforced:
            for bucket in buckets:
                bucket.level -= weight

    def flood(self, method: str, chat_id: int, retry_after: int) -> None:
        """Refuse this call and every one like it to the chat for `retry_after` seconds, whatever the rates say."""
        buckets = self._applicable(method, chat_id, limited=True)
        if not buckets:
            raise flooded(retry_after, violation=False)
        self._refuse_during_ban(buckets[0], self._clock.now())
        self._ban(buckets[0], retry_after)

    def _applicable(self, method: str, chat_id: int, *, limited: bool) -> list[_Bucket]:
        if method in _DRAFTS:
            return [self._bucket("drafts", chat_id, 2, 5)]
        if method not in _MESSAGES:
            return []
        buckets = [self._bucket("chat", chat_id, 1, 5)]
        if limited:
            buckets.append(self._bucket("overall", 0, 30, 30))
            if chat_id < 0:
                buckets.append(self._bucket("group", chat_id, 20 / 60, 20))
        return buckets

    def _bucket(self, kind: str, chat_id: int, per_second: float, burst: float) -> _Bucket:
        return self._buckets.setdefault((kind, chat_id), _Bucket(per_second, burst))

    def _ban(self, bucket: _Bucket, retry_after: int) -> None:
        bucket.banned_until = self._clock.now() + retry_after
        bucket.banned_since_wall = time.monotonic()
        raise flooded(retry_after, violation=False)

    def _refuse_during_ban(self, bucket: _Bucket, now: float) -> None:
        remaining = math.ceil(bucket.banned_until - now)
        if remaining <= 0:
            return
        in_flight = time.monotonic() - bucket.banned_since_wall < _IN_FLIGHT_SECONDS
        if not in_flight:
            extension = min(remaining, _LONGEST_EXTENSION_SECONDS)
            bucket.banned_until += extension
            remaining += extension
        raise flooded(remaining, violation=not in_flight)
