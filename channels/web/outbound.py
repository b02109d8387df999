"""The replies as they stand now, kept for the readers of the page and told to them."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Self

from channels.contract import ConversationKey, Reply
from channels.web.render import LiveReply

_Place = tuple[ConversationKey, str]


class LiveReplies:
    """The newest snapshot of each delivery, and who follows which conversation.

    A final reply is kept `keep_final_seconds` for those who reconnect; after that the transcript has it. At most `limit`
    snapshots are kept: of more, those changed longest ago go first.
    """

    def __init__(
        self, *, keep_final_seconds: float = 300, limit: int = 2_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keep_final_seconds = keep_final_seconds
        self._limit = limit
        self._clock = clock
        self._version = 0
        self._replies: OrderedDict[_Place, tuple[LiveReply, float]] = OrderedDict()
        self._followers: dict[ConversationKey, set[Follower]] = {}
        self._is_closed = False

    def put(self, conversation: ConversationKey, delivery_id: str, reply_to: str | None, reply: Reply) -> None:
        """Keep this snapshot in place of the delivery's last and wake those who follow; an equal one changes nothing."""
        place = (conversation, delivery_id)
        known = self._replies.get(place)
        if known is not None and known[0].reply == reply:
            return
        self._version += 1
        live = LiveReply(delivery_id, reply_to, reply, self._version)
        self._replies[place] = (live, self._clock())
        self._replies.move_to_end(place)
        self._forget_old()
        for follower in self._followers.get(conversation, ()):
            follower.offer(live)

    def of(self, conversation: ConversationKey) -> list[LiveReply]:
        """The snapshots of a conversation, the one changed longest ago first."""
        self._forget_old()
        return [live for (where, _), (live, _) in self._replies.items() if where == conversation]

    def follow(self, conversation: ConversationKey, after: int = 0) -> "Follower":
        """Every change of the conversation's replies from now on, beginning with those changed behind version `after`."""
        return Follower(self, conversation, [live for live in self.of(conversation) if live.version > after])

    @property
    def is_closed(self) -> bool:
        """Whether readers are let go at once."""
        return self._is_closed

    @property
    def follower_count(self) -> int:
        """How many readers there are."""
        return sum(len(followers) for followers in self._followers.values())

    def close(self) -> None:
        """Let every reader go; snapshots are still kept."""
        self._is_closed = True
        for followers in self._followers.values():
            for follower in followers:
                follower.end()

    def join(self, follower: "Follower", conversation: ConversationKey) -> None:
        """Take a reader in."""
        self._followers.setdefault(conversation, set()).add(follower)
        if self._is_closed:
            follower.end()

    def leave(self, follower: "Follower", conversation: ConversationKey) -> None:
        """Let a reader go."""
        followers = self._followers.get(conversation, set())
        followers.discard(follower)
        if not followers:
            self._followers.pop(conversation, None)

    def _forget_old(self) -> None:
        horizon = self._clock() - self._keep_final_seconds
        outlived = [place for place, (live, at) in self._replies.items() if live.reply.is_final and at < horizon]
        for place in outlived:
            del self._replies[place]
        while len(self._replies) > self._limit:
            self._replies.popitem(last=False)


class Follower:
    """One reader of one conversation. Holds at most one snapshot per reply: a slow reader skips to the newest."""

    def __init__(self, replies: LiveReplies, conversation: ConversationKey, first: list[LiveReply]) -> None:
        self._replies = replies
        self._conversation = conversation
        self._waiting = {live.delivery_id: live for live in first}
        self._wake = asyncio.Event()
        self.is_ended = False
        if first:
            self._wake.set()

    def __enter__(self) -> Self:
        self._replies.join(self, self._conversation)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._replies.leave(self, self._conversation)

    def offer(self, live: LiveReply) -> None:
        """A snapshot to read next, in place of an older one of the same reply."""
        self._waiting.pop(live.delivery_id, None)
        self._waiting[live.delivery_id] = live
        self._wake.set()

    def end(self) -> None:
        """Nothing more will come."""
        self.is_ended = True
        self._wake.set()

    async def changes(self, timeout_seconds: float) -> list[LiveReply]:
        """What changed since the last call, oldest first; empty after `timeout_seconds` without a change, or at the end."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._wake.wait()
        except TimeoutError:
            return []
        if not self.is_ended:
            self._wake.clear()
        waiting, self._waiting = list(self._waiting.values()), {}
        return waiting
