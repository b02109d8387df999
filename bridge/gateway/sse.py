"""A run's stream as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Self

from bridge.runs.records import PartId, RunRecord, StreamMode, StreamPart

HEARTBEAT = b": heartbeat\n\n"
HEADERS = {
    "Content-Type": "text/event-stream",
    "X-Accel-Buffering": "no",  # nginx: hand every event on at once
}

_ALWAYS_SHOWN = frozenset({"metadata", "error", "end"})
_BEYOND_EVERY_ID = 2**31
_NEVER_SHOWN = frozenset({"house"})


@dataclass(frozen=True, slots=True)
class Shown:
    """Which parts of a run one reader sees. `modes` None: all there are."""

    modes: frozenset[str] | None
    subgraphs: bool = False

    @classmethod
    def of(cls, run: RunRecord, asked: Iterable[StreamMode] = ()) -> Self:
        """The modes this reader asked for, or else those the run was started with, or else everything."""
        modes = tuple(asked) or tuple(run.spec.stream_modes)
        named = frozenset("messages" if mode == "messages-tuple" else mode for mode in modes)
        # a run not started with `values` gives them only when its parts are gone, in place of everything else
        last_resort = frozenset[str]() if "values" in run.spec.stream_modes else frozenset({"values"})
        return cls(named | _ALWAYS_SHOWN | last_resort if named else None, run.spec.stream_subgraphs)

    def includes(self, part: StreamPart) -> bool:
        """Whether the reader sees this part: a subgraph's parts only where it asked for them."""
        is_wanted = part.mode not in _NEVER_SHOWN if self.modes is None else part.mode in self.modes
        return is_wanted and (self.subgraphs or not part.namespace)


async def events(parts: AsyncIterator[StreamPart], shown: Shown) -> AsyncGenerator[bytes, None]:
    """The parts a reader sees, each as an event with its id."""
    async for part in parts:
        if shown.includes(part):
            yield event(part)


def event(part: StreamPart) -> bytes:
    """One event. A subgraph's says where it comes from: `updates|tools:…`."""
    name = "|".join((part.mode, *part.namespace))
    return b"event: %s\ndata: %s\nid: %s\n\n" % (name.encode(), part.json, str(part.id).encode())


def last_event_id(header: str | None) -> PartId | None:
    """What `Last-Event-ID` says; anything that is none of our ids means: from the beginning."""
    try:
        part = PartId.parse(header or "")
    except ValueError:
        return None
    return part if max(part) < _BEYOND_EVERY_ID else None
