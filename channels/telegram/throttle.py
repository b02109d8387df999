"""Keeps what the channel sends below Telegram's limits, and silent where Telegram asked for silence."""

import asyncio
import time
from collections.abc import Callable

from channels.contract import ChatKind, Pace, RateLimited
from channels.shared.pacing import Pacer, Urgency

# https://core.telegram.org/bots/faq#broadcasting-to-users: about 1 message a second in a chat, 20 a minute in a group
# (edits count), 30 a second over all chats. Drafts have a limit of their own, which is not published.
_PACE = {ChatKind.PRIVATE: Pace(1.0), ChatKind.GROUP: Pace(3.0, per_minute=20)}
_DRAFT_PACE = Pace(0.5)
_UNLIMITED = Pace(0.0)
_LONGEST_WAIT_SECONDS = {Urgency.PREVIEW: 0.25, Urgency.CONTINUATION: 5.0, Urgency.ANSWER: 1.5}
_SIGN_OF_ALL_CHATS = 3  # so many refused within a second: the limit over all chats, which is not said to be one


def pace_of(kind: ChatKind, times: float) -> Pace:
    """So many times Telegram's usual pace."""
    usual = _PACE[kind]
    per_minute = None if usual.per_minute is None else int(usual.per_minute * times)
    return Pace(usual.interval_seconds / times, per_minute)


def _usual_pace(chat: str) -> Pace:
    return _PACE[ChatKind.GROUP if chat.startswith("-") else ChatKind.PRIVATE]


class Throttle:
    """Waits a moment where that is enough, and else says how long to stay silent.

    For a server that allows more than Telegram does, the clock of messages runs so many times as fast; drafts keep their pace.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, times: float = 1.0) -> None:
        self._clock = clock
        self._times = times
        self._refused_at: dict[int, float] = {}
        self._messages = Pacer(_usual_pace)
        self._drafts = Pacer(lambda _: _DRAFT_PACE, overall_per_second=1_000)
        self._activity = Pacer(lambda _: _UNLIMITED, overall_per_second=1_000)

    async def message_turn(self, chat_id: int, urgency: Urgency) -> None:
        """Return when a message may be posted or edited. Raises RateLimited when that takes longer than it is worth."""
        chat = str(chat_id)
        while (wait := self._messages.delay(chat, self._message_time(), urgency) / self._times) > 0:
            if wait > _LONGEST_WAIT_SECONDS[urgency]:
                raise RateLimited(f"chat {chat} must wait {wait:.1f} s", retry_after_seconds=wait)
            await asyncio.sleep(wait)
        self._messages.spend(chat, self._message_time())

    def draft_delay(self, chat_id: int) -> float:
        """Seconds until a draft may be shown."""
        return self._drafts.delay(str(chat_id), self._clock(), Urgency.PREVIEW)

    def draft_shown(self, chat_id: int) -> None:
        """Count a draft that goes out now."""
        self._drafts.spend(str(chat_id), self._clock())

    def message_refused(self, chat_id: int, error: RateLimited) -> None:
        """Post and edit nothing in that chat for as long as Telegram asks, and nowhere if it seems to mean all of them."""
        now, until = self._clock(), self._message_time() + error.retry_after_seconds * self._times
        self._messages.silence(str(chat_id), until)
        self._refused_at = {chat: at for chat, at in self._refused_at.items() if now - at < 1.0} | {chat_id: now}
        if len(self._refused_at) >= _SIGN_OF_ALL_CHATS:
            self._messages.silence(None, until)

    def draft_refused(self, chat_id: int, error: RateLimited) -> None:
        """Show no draft in that chat for as long as Telegram asks."""
        self._drafts.silence(str(chat_id), self._clock() + error.retry_after_seconds)

    def may_show_activity(self, chat_id: int) -> bool:
        """Whether Telegram may be asked to show "typing" in that chat."""
        return self._activity.delay(str(chat_id), self._clock(), Urgency.CONTINUATION) <= 0

    def activity_refused(self, chat_id: int, error: RateLimited) -> None:
        """Show no "typing" in that chat for as long as Telegram asks."""
        self._activity.silence(str(chat_id), self._clock() + error.retry_after_seconds)

    def _message_time(self) -> float:
        return self._clock() * self._times
