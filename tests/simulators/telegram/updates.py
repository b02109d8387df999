"""The bot's update queue: confirmed by offset, kept for a day, read by one poller or sent to a webhook."""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..clock import ScaledClock
from .errors import Refused

Json = dict[str, Any]
_KEPT_SECONDS = 24 * 3600
_LONGEST_POLL_SECONDS = 50
_REDELIVERABLE = 10_000
_NOT_BY_DEFAULT = {"chat_member", "message_reaction", "message_reaction_count"}
_TAKEN_OVER = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
)  # fmt: skip
_WEBHOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)


@dataclass(slots=True)
class QueuedUpdate:
    """An update not yet confirmed; `again`: confirmed once, and to be delivered all the same."""

    id: int
    body: Json
    added_at: float
    again: bool = False


@dataclass(slots=True)
class Webhook:
    url: str
    secret_token: str | None
    max_connections: int
    last_error: str | None = None
    last_error_at: int = 0
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class UpdateQueue:
    """Updates not yet confirmed, in order, with the server's rules for pollers."""

    def __init__(self, clock: ScaledClock) -> None:
        self._clock = clock
        self._ids = itertools.count(880_000_001)
        self._queue: list[QueuedUpdate] = []
        self._sent: dict[int, QueuedUpdate] = {}
        self._allowed: list[str] = []
        self._poll: asyncio.Future[None] | None = None
        self.webhook: Webhook | None = None
        self.on_added: Callable[[], None] = lambda: None

    @property
    def pending(self) -> list[QueuedUpdate]:
        oldest = self._clock.now() - _KEPT_SECONDS
        while self._queue and self._queue[0].added_at < oldest:
            self._queue.pop(0)
        return self._queue

    @property
    def allowed(self) -> list[str]:
        """The kinds the bot asked for; empty: those of the default."""
        return self._allowed

    def is_allowed(self, kind: str) -> bool:
        return kind in self._allowed if self._allowed else kind not in _NOT_BY_DEFAULT

    def allow(self, kinds: list[str] | None) -> None:
        """Remember what the bot asked for; None leaves it as it was."""
        if kinds is not None:
            self._allowed = kinds

    def add(self, kind: str, body: Json) -> int | None:
        """Queue an update; None when the bot did not ask for its kind."""
        return self.inject({kind: body}) if self.is_allowed(kind) else None

    def inject(self, body: Json) -> int:
        """Queue an update of any shape; the server gives it its id."""
        update_id = next(self._ids)
        update = QueuedUpdate(update_id, {"update_id": update_id, **body}, self._clock.now())
        self._remember(update)
        self._queue.append(update)
        self._wake()
        return update_id

    def _remember(self, update: QueuedUpdate) -> None:
        self._sent[update.id] = update
        if len(self._sent) > _REDELIVERABLE:
            del self._sent[next(iter(self._sent))]

    def redeliver(self, update_id: int) -> None:
        """Deliver an update again under its old id, as after a confirmation that got lost."""
        update = self._sent[update_id]
        if update not in self._queue:
            self._queue.append(QueuedUpdate(update_id, update.body, self._clock.now(), again=True))
            self._queue.sort(key=lambda queued: queued.id)
        self._wake()

    def confirm(self, update_id: int) -> None:
        """A webhook took this update."""
        self._queue = [update for update in self._queue if update.id != update_id]

    def drop(self) -> None:
        self._queue.clear()

    async def get(self, offset: int, limit: int, timeout_seconds: int) -> list[Json]:
        """`getUpdates`: confirms what lies below `offset`, then waits for at most the time given."""
        if self.webhook is not None:
            raise Refused(409, _WEBHOOK_ACTIVE)
        self.interrupt_poll(_TAKEN_OVER)
        self._move_to(offset)
        if not self.pending and timeout_seconds > 0:
            await self._wait(min(timeout_seconds, _LONGEST_POLL_SECONDS))
        given = self.pending[:limit]
        for update in given:
            update.again = False
        return [update.body for update in given]

    def interrupt_poll(self, reason: str) -> None:
        """End a poll that waits, with a conflict."""
        if self._poll is not None and not self._poll.done():
            self._poll.set_exception(Refused(409, reason))

    def _move_to(self, offset: int) -> None:
        if offset > 0:
            self._queue = [update for update in self._queue if update.id >= offset or update.again]
        elif offset < 0:
            self._queue = self._queue[offset:]

    async def _wait(self, simulated_seconds: float) -> None:
        poll: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._poll = poll
        try:
            await asyncio.wait_for(poll, self._clock.real(simulated_seconds))
        except TimeoutError:
            return
        finally:
            if self._poll is poll:
                self._poll = None

    def _wake(self) -> None:
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(None)
        self.on_added()
