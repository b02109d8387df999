"""The page as a channel: its lifecycle, and the replies it is given."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from aiohttp import web

from channels.contract import (
    ChannelCapabilities,
    ChannelHealth,
    ChannelHost,
    ChatKind,
    DeliveryReceipt,
    DeliveryTarget,
    FileRef,
    FileUnavailable,
    Pace,
    Piece,
    PieceState,
    Reply,
    TextUnit,
    reply_to_json,
)
from channels.web.config import WebConfig
from channels.web.conversations import Conversations
from channels.web.events import Events
from channels.web.files import Files
from channels.web.guard import Guard
from channels.web.ids import CHANNEL, parse_key
from channels.web.outbound import LiveReplies
from channels.web.page import Page, load_assets
from channels.web.seals import Seals, load_secret

_UNLIMITED = 2**40
_SLOT = "page"


class WebChannel:
    """The browser page, served on the gateway's port. Its secret lives in `state_dir` (what it signs outlives a restart).

    Building it reads the page's files (blocking).
    """

    def __init__(self, section: WebConfig, *, state_dir: Path, keep_alive_seconds: float = 15) -> None:
        self._section = section
        self._secret_path = state_dir / "web-secret"
        self._guard = Guard()
        self._live = LiveReplies()
        self._parts = (
            Page(self._guard, load_assets()),
            Conversations(self._guard, self._live, takes_feedback=section.feedback),
            Events(self._guard, self._live, takes_feedback=section.feedback, keep_alive_seconds=keep_alive_seconds),
            Files(self._guard),
        )

    @property
    def name(self) -> str:
        """The channel's name in the configuration and in conversation keys."""
        return CHANNEL

    @property
    def capabilities(self) -> ChannelCapabilities:
        """A page of our own has no limits to speak of; the house's own apply."""
        return ChannelCapabilities(
            text_limit=_UNLIMITED,
            text_unit=TextUnit.CODEPOINTS,
            upload_limit_bytes=_UNLIMITED,
            download_limit_bytes=_UNLIMITED,
            pace={ChatKind.PRIVATE: Pace(interval_seconds=0.1)},
        )

    def http_routes(self) -> Sequence[web.AbstractRouteDef]:
        """The page and what it asks for; everything is answered with 503 before `start` and after `close`."""
        return [route for part in self._parts for route in part.routes()]

    async def start(self, host: ChannelHost) -> None:
        """Let people in. The first start makes the secret."""
        secret = await asyncio.to_thread(load_secret, self._secret_path)
        self._guard.open(host, Seals(secret))

    async def stop(self) -> None:
        """Take nothing more, and end the streams so that the server can close; what stands can be read until `close`."""
        self._guard.refuse_posts()
        self._live.close()

    async def close(self) -> None:
        """Let nobody in any more."""
        self._guard.close()

    def health(self) -> ChannelHealth:
        """The page works when the gateway does."""
        return ChannelHealth(ok=self._guard.is_open, detail="" if self._guard.is_open else "not running")

    async def deliver(self, target: DeliveryTarget, reply: Reply, receipt: DeliveryReceipt) -> DeliveryReceipt:
        """Show the snapshot to whoever looks, and keep it for who comes later; it always succeeds.

        Raises ValueError for a conversation of another channel.
        """
        parse_key(target.conversation)
        target.permit()
        digest = sha256(reply_to_json(reply)).hexdigest()[:16]
        known = receipt.piece(_SLOT)
        if known is None:
            receipt = receipt.with_piece(Piece(_SLOT, PieceState.ATTEMPTING, digest=digest))
            await target.record(receipt)
        self._live.put(target.conversation, target.delivery_id, target.reply_to, reply)
        receipt = receipt.with_piece(Piece(_SLOT, PieceState.SENT, target.delivery_id, digest))
        if known is None:
            await target.record(receipt)
        return receipt

    async def download(self, ref: FileRef, destination: Path) -> None:
        """Never needed: what a person uploads here goes straight into the thread. Raises FileUnavailable."""
        raise FileUnavailable(f"the page keeps no files: {ref.ref}", user_message="This file is no longer available.")
