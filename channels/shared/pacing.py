"""How soon a platform may be asked again, by chat: keeps below its limits and honours the silence it imposes."""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from channels.contract import Pace

_MINUTE = 60.0


class Urgency(StrEnum):
    """What a request is for; the more a person waits for it, the less it has to."""

    PREVIEW = "preview"  # an answer that still grows: keeps the interval and leaves a part of the minute's budget
    CONTINUATION = "continuation"  # the next of several messages: a short burst is fine
    ANSWER = "answer"  # what the person waits for: a short burst is fine, and it waits least of all


@dataclass(slots=True)
class _Chat:
    requests: deque[float]
    silent_until: float = 0.0


@dataclass(slots=True)
class Pacer:
    """Counts the requests of one kind to each chat. Time is any steady clock in seconds, passed in.

    `overall_per_second` bounds all chats together; of more than `most_chats` the one asked longest ago is forgotten.
    """

    pace_of: Callable[[str], Pace]
    burst: int = 4
    burst_seconds: float = 4.0
    reserved_share: float = 0.2
    overall_per_second: int = 30
    most_chats: int = 10_000
    _chats: OrderedDict[str, _Chat] = field(default_factory=OrderedDict)
    _overall: deque[float] = field(default_factory=deque)
    _silent_until: float = 0.0

    def delay(self, chat: str, now: float, urgency: Urgency) -> float:
        """Seconds until the next request may go out; 0 is now."""
        known = self._chats.get(chat)
        ready = [now, self._silent_until, _free_at(self._overall, self.overall_per_second, 1.0)]
        if known is not None:
            ready += [known.silent_until, *self._ready_in_chat(known.requests, self.pace_of(chat), urgency)]
        return max(ready) - now

    def spend(self, chat: str, now: float) -> None:
        """Count a request that goes out now."""
        pace = self.pace_of(chat)
        known = self._touch(chat)
        known.requests.append(now)
        while len(known.requests) > max(self.burst, pace.per_minute or 1):
            known.requests.popleft()
        self._overall.append(now)
        while len(self._overall) > self.overall_per_second:
            self._overall.popleft()

    def silence(self, chat: str | None, until: float) -> None:
        """Say nothing before `until`: in that chat, or anywhere when it is None."""
        if chat is None:
            self._silent_until = max(self._silent_until, until)
        else:
            known = self._touch(chat)
            known.silent_until = max(known.silent_until, until)

    def _ready_in_chat(self, requests: deque[float], pace: Pace, urgency: Urgency) -> list[float]:
        ready = []
        if urgency is Urgency.PREVIEW:
            ready.append(_free_at(requests, 1, pace.interval_seconds))
        else:
            ready.append(_free_at(requests, self.burst, self.burst_seconds))
        if pace.per_minute is not None:
            reserved = int(pace.per_minute * self.reserved_share) if urgency is Urgency.PREVIEW else 0
            ready.append(_free_at(requests, pace.per_minute - reserved, _MINUTE))
        return ready

    def _touch(self, chat: str) -> _Chat:
        known = self._chats.setdefault(chat, _Chat(deque()))
        self._chats.move_to_end(chat)
        if len(self._chats) > self.most_chats:
            self._chats.popitem(last=False)
        return known


def _free_at(requests: deque[float], most: int, within_seconds: float) -> float:
    """When one more request keeps to at most `most` in any such span."""
    return requests[-most] + within_seconds if len(requests) >= most else 0.0
