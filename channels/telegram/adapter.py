"""The Telegram channel: its life, and what the house asks of it."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import cast
from urllib.parse import urlencode, urlsplit

import orjson
from aiohttp import web
from telegram.error import InvalidToken, TelegramError

from channels.contract import (
    ChannelCapabilities,
    ChannelHealth,
    ChannelHost,
    ChannelNotConfigured,
    ChannelUnavailable,
    ChatKind,
    ConversationKey,
    DeliveryReceipt,
    DeliveryTarget,
    FileRef,
    Press,
    PressVerdict,
    RateLimited,
    ReceiptSign,
    Remark,
    Reply,
    Surroundings,
    TextUnit,
)
from channels.telegram.account import REFUSED, made_bot, show_menu
from channels.telegram.checkup import PRIVACY_MODE, examine, reads_too_little
from channels.telegram.config import TelegramConfig, Transport
from channels.telegram.downloading import DOWNLOAD_LIMIT_BYTES, download
from channels.telegram.drafts import DraftBoard
from channels.telegram.groups import Groups
from channels.telegram.ids import CHANNEL, Address
from channels.telegram.inbound import BotIdentity, Inbound, update_types
from channels.telegram.outbound import Outbound
from channels.telegram.polling import Poller
from channels.telegram.presenting import Means, Presentation
from channels.telegram.presses import Presses
from channels.telegram.receiving import RawUpdate, Receiving
from channels.telegram.render import TEXT_LIMIT, UPLOAD_LIMIT_BYTES, Rendered, render
from channels.telegram.request import AiohttpRequest, proxy_from_environment
from channels.telegram.standing import described
from channels.telegram.throttle import Throttle, pace_of
from channels.telegram.webhook import Webhook

_LOGGER = logging.getLogger(__name__)
_SIGNS = {ReceiptSign.SEEN: "👀", ReceiptSign.DONE: "👌", ReceiptSign.FAILED: "💔"}  # bots may use only listed emoji
_SLOTS_OF_TEXT = ("text:", "waiting:")
_READ_SECONDS = 10.0


class TelegramChannel:
    """A bot on Telegram, by long polling or a webhook. Telegram keeps all there is to keep, so `state_dir` stays empty."""

    def __init__(self, section: TelegramConfig, *, state_dir: Path | None = None) -> None:
        del state_dir
        self._section = section
        proxy = proxy_from_environment(section.base_url)
        self._request = AiohttpRequest(read_timeout_seconds=_READ_SECONDS, proxy=proxy)
        self._poll_request = AiohttpRequest(pool_size=2, read_timeout_seconds=_READ_SECONDS, proxy=proxy)
        self._bot = made_bot(section, self._request, self._poll_request)
        self._throttle = Throttle(times=section.times_usual_pace)
        self._outbound = Outbound(self._bot)
        self._drafts = DraftBoard(self._outbound, self._throttle)
        self._presses = Presses(self._outbound)
        self._receiving = Receiving(self._bot, self._presses, Groups(self._outbound, leaves=section.leaves_groups))
        self._transport = self._made_transport()
        self._host: ChannelHost | None = None

    @property
    def name(self) -> str:
        """`telegram`."""
        return CHANNEL

    @property
    def capabilities(self) -> ChannelCapabilities:
        """The limits of the Bot API, and whether answers grow before they are done."""
        return ChannelCapabilities(
            text_limit=TEXT_LIMIT,
            text_unit=TextUnit.UTF16,
            upload_limit_bytes=UPLOAD_LIMIT_BYTES,
            download_limit_bytes=DOWNLOAD_LIMIT_BYTES,
            # In private chats drafts come at a pace of their own.
            pace={ChatKind.GROUP: pace_of(ChatKind.GROUP, self._section.times_usual_pace)},
        )

    async def start(self, host: ChannelHost) -> None:
        """Connect and listen. A Telegram that can't be reached is tried again inside. Raises ChannelNotConfigured."""
        self._host = host
        await self._open_connections()
        refused = False
        try:
            await self._transport.connect()
        except InvalidToken:
            refused = True
        except (TelegramError, TimeoutError):  # why is said when it is tried again, if it still is so
            _LOGGER.info("telegram: no connection at the first try")
        if refused:  # raised here, not above: the library's error must not hang on ours
            await self.close()
            raise ChannelNotConfigured(REFUSED)
        self._transport.start(host, self._task)

    async def stop(self) -> None:
        """Stop listening; what was taken is confirmed, if Telegram answers at once."""
        await self._transport.stop()

    async def close(self) -> None:
        """Close the connections."""
        await self._drafts.close_all()
        await asyncio.gather(self._request.shutdown(), self._poll_request.shutdown())

    async def doctor(self, around: Surroundings) -> Sequence[Remark]:
        """Ask Telegram who the bot is and how it stands, without listening. Raises ChannelNotConfigured, ChannelUnavailable."""
        await self._open_connections()
        reason = ""
        try:
            return await examine(self._bot, self._section, self._task, around)
        except InvalidToken:
            reason = "refused"
        except (TelegramError, TimeoutError) as error:
            reason = described(error)
        if reason == "refused":  # raised here, not above: the library's error must not hang on ours
            raise ChannelNotConfigured(REFUSED)
        raise ChannelUnavailable(reason)

    def health(self) -> ChannelHealth:
        """Whether updates can be heard."""
        return self._transport.health()

    def webhook_routes(self) -> Sequence[web.AbstractRouteDef]:
        """The address Telegram calls, where it is to call one; it checks Telegram's secret."""
        return self._transport.routes() if isinstance(self._transport, Webhook) else ()

    async def deliver(self, target: DeliveryTarget, reply: Reply, receipt: DeliveryReceipt) -> DeliveryReceipt:
        """Show the snapshot: growing as a draft or in an edited message, in the end as messages and files."""
        if self._host is None:
            raise RuntimeError("the channel was not started")
        target.permit()
        means = Means(self._outbound, self._throttle, self._host)
        presentation = Presentation(means, target, receipt, is_final=reply.is_final)
        rendered = render(reply, most_messages=self._section.max_messages, thumbs=self._section.feedback)
        if self._grows_as_draft(target, reply, rendered, presentation):
            await self._show_growing(presentation, target, reply, rendered)
        else:
            await self._drafts.close(target.delivery_id)
            await self._show_standing(presentation, reply, rendered)
        return presentation.receipt

    async def download(self, ref: FileRef, destination: Path) -> None:
        """Fetch a file (at most 20 MB). Raises FileUnavailable or a retryable ChannelError."""
        await download(self._bot, self._request, ref, destination)

    async def show_activity(self, target: DeliveryTarget) -> None:
        """Show "typing", and keep the draft of the answer alive."""
        target.permit()
        address = Address.of(target.conversation)
        try:
            if self._throttle.may_show_activity(address.chat_id):
                await self._outbound.typing(address)
        except RateLimited as error:
            self._throttle.activity_refused(address.chat_id, error)
        await self._drafts.refresh(target)

    async def react(self, conversation: ConversationKey, message_id: str, sign: ReceiptSign) -> None:
        """Put the sign on the person's message."""
        await self._outbound.react(Address.of(conversation), int(message_id), _SIGNS[sign])

    async def answer_press(self, press: Press, verdict: PressVerdict) -> None:
        """Show the verdict over the chat; refusals as an alert."""
        await self._presses.answer(press.dedupe_key, verdict)

    def _grows_as_draft(self, target: DeliveryTarget, reply: Reply, rendered: Rendered, standing: Presentation) -> bool:
        if reply.is_final or not rendered.texts or target.chat_kind is not ChatKind.PRIVATE:
            return False
        growing = rendered.texts[-1]
        takes_drafts = self._drafts.takes_drafts(Address.of(target.conversation).chat_id)
        return growing.slot.startswith("text:") and takes_drafts and not standing.has_message(growing.slot)

    async def _show_growing(
        self, presentation: Presentation, target: DeliveryTarget, reply: Reply, rendered: Rendered
    ) -> None:
        *settled, growing = rendered.texts
        for payload in settled:
            await presentation.show_text(payload)
        await presentation.withdraw_others(("waiting:",), set())
        await self._drafts.show(target, growing.content, reply.run_id if reply.can_stop else None)

    async def _show_standing(self, presentation: Presentation, reply: Reply, rendered: Rendered) -> None:
        for payload in rendered.texts:
            await presentation.show_text(payload)
        if rendered.overflow is not None and not await presentation.show_made_file(rendered.overflow):
            rendered = render(reply)  # then as messages, however many
            for payload in rendered.texts:
                await presentation.show_text(payload)
        for file in rendered.files:
            await presentation.show_file(file)
        await presentation.withdraw_others(_SLOTS_OF_TEXT, {payload.slot for payload in rendered.texts})

    @property
    def _task(self) -> str:
        """What only one replica may do for this bot."""
        return f"{CHANNEL}:{self._bot.id}:updates"

    async def _open_connections(self) -> None:
        await asyncio.gather(self._request.initialize(), self._poll_request.initialize())

    def _made_transport(self) -> Poller | Webhook:
        if self._section.transport is Transport.WEBHOOK:
            return Webhook(self._bot, self._section, self._receiving, self._connect)
        return Poller(
            self._connect,
            self._fetch,
            self._receiving.take,
            timeout_seconds=self._section.poll_timeout_seconds,
            take_over=self._remove_webhook,
        )

    async def _connect(self) -> None:
        """Learn who we are, and show what can be typed. Raises TelegramError."""
        if self._host is None:
            raise RuntimeError("the channel was not started")
        me = await self._bot.get_me()
        self._receiving.begin(self._host, Inbound(BotIdentity(me.id, me.username or ""), self._drafts.runs))
        _LOGGER.info("telegram: answers as @%s", me.username)
        if reads_too_little(me, self._section):
            _LOGGER.warning("telegram: speaks: always does not work: %s", PRIVACY_MODE)
        await show_menu(self._bot, self._host.commands, self._section.admins)

    async def _remove_webhook(self) -> None:
        """Take updates from a webhook that is left over: while there is one, Telegram answers no poll."""
        info = await self._bot.get_webhook_info()
        if info.url:
            host = urlsplit(info.url).hostname
            _LOGGER.warning("telegram: a webhook to %s was set; it is removed, for `transport` is polling", host)
            await self._bot.delete_webhook()

    async def _fetch(self, offset: int | None, timeout_seconds: int) -> list[RawUpdate]:
        wanted = orjson.dumps(update_types(reactions=self._section.feedback)).decode()
        asked = {"timeout": timeout_seconds, "allowed_updates": wanted}
        if offset is not None:
            asked["offset"] = offset
        url = f"{self._bot.base_url}/getUpdates?{urlencode(asked)}"
        answer = await self._poll_request.post(url, read_timeout=timeout_seconds + _READ_SECONDS)
        return cast("list[RawUpdate]", answer)
