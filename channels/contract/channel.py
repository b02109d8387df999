"""What a channel must be. Required: one small protocol; everything optional is another, found by type."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from aiohttp import web

from channels.contract.capabilities import ChannelCapabilities
from channels.contract.conversation import ConversationKey
from channels.contract.delivery import DeliveryReceipt, DeliveryTarget
from channels.contract.events import FileRef, Press
from channels.contract.host import ChannelHost
from channels.contract.reply import Reply


@dataclass(frozen=True, slots=True)
class ChannelHealth:
    """Whether people can be heard and answered now; `detail` says in one line what is wrong, without a secret."""

    ok: bool
    detail: str = ""


class ReceiptSign(StrEnum):
    """What a sign at the person's own message says."""

    SEEN = "seen"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PressVerdict:
    """What a press led to, said at once where the platform can: `accepted` False means it changed nothing and `text` says why."""

    accepted: bool
    text: str


class Channel(Protocol):
    """A platform connection. Built by its plug-in with its configuration section; owns its tasks and its sessions."""

    @property
    def name(self) -> str:
        """The channel's name in the configuration and in conversation keys."""

    @property
    def capabilities(self) -> ChannelCapabilities:
        """The platform's limits and abilities."""

    async def start(self, host: ChannelHost) -> None:
        """Connect and begin to listen; returns when events can arrive.

        Raises ChannelNotConfigured; a platform that is only unwell is retried inside.
        """

    async def stop(self) -> None:
        """Stop listening, then let go of everything. No event is submitted after this returns; `deliver` still works until `close`."""

    async def close(self) -> None:
        """Release sessions; nothing is called after this."""

    def health(self) -> ChannelHealth:
        """Whether the channel works now, from what it has seen (no I/O)."""

    async def deliver(self, target: DeliveryTarget, reply: Reply, receipt: DeliveryReceipt) -> DeliveryReceipt:
        """Make the platform show this snapshot, given what already stands there; calling it again with the same arguments changes nothing.

        Raises ChannelError. RateLimited, ChannelUnavailable and OutcomeUnknown mean: call again later, with the newest snapshot
        and the last recorded receipt, from which the channel knows what may stand there already. A channel keeps the platform's
        limits itself: what is not final may be refused because it comes too soon, so the final snapshot need not wait.
        """

    async def download(self, ref: FileRef, destination: Path) -> None:
        """Fetch a file a person sent into `destination` (a new file).

        Raises FileUnavailable with a `user_message`, or a retryable ChannelError.
        """


@runtime_checkable
class SupportsHttpRoutes(Protocol):
    """The channel has pages of its own. They stand behind the gateway's access token like everything else."""

    def http_routes(self) -> Sequence[web.AbstractRouteDef]:
        """Routes for the gateway's server, made once before it starts."""


@runtime_checkable
class SupportsWebhooks(Protocol):
    """The platform calls the channel over HTTP."""

    def webhook_routes(self) -> Sequence[web.AbstractRouteDef]:
        """Routes for the gateway's server, made once before it starts, each of which verifies its requests itself.

        A platform can send no access token of ours and calls the server by its public name, so neither is asked for here: a
        handler checks the platform's signature or secret over the unparsed body before it does anything else.
        """


@runtime_checkable
class SupportsActivity(Protocol):
    """The platform can show that the bot is at work ("typing"); called anew every `activity_refresh_seconds` while it is."""

    async def show_activity(self, target: DeliveryTarget) -> None:
        """Show it for a few seconds; failures are the caller's to ignore."""


@runtime_checkable
class SupportsReactions(Protocol):
    """The platform can put a sign on the person's message."""

    async def react(self, conversation: ConversationKey, message_id: str, sign: ReceiptSign) -> None:
        """Replace the bot's sign on that message."""


@runtime_checkable
class SupportsPressAnswer(Protocol):
    """The platform waits (about 3 seconds) for a word about a press."""

    async def answer_press(self, press: Press, verdict: PressVerdict) -> None:
        """Show the verdict to the person who pressed."""


@runtime_checkable
class SupportsPrivateHint(Protocol):
    """The platform can say something to one person in a group."""

    async def hint(self, conversation: ConversationKey, user_id: str, text: str) -> None:
        """Show the text to that person only."""
