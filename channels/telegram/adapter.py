"""The Telegram channel: its life, and what the house asks of it."""

import asyncio
import contextlib
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from urllib.parse import urlencode

import orjson
from telegram import Bot, BotCommand, BotCommandScopeChat, Update
from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

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
    ReceiptSign,
    Reply,
    TextUnit,
)
from channels.telegram.albums import Albums
from channels.telegram.config import TelegramConfig
from channels.telegram.downloading import DOWNLOAD_LIMIT_BYTES, download
from channels.telegram.drafts import DraftBoard
from channels.telegram.ids import CHANNEL, Address, bot_id_of
from channels.telegram.inbound import UPDATE_TYPES, BotIdentity, Inbound
from channels.telegram.outbound import Outbound
from channels.telegram.polling import Poller, RawUpdate
from channels.telegram.presenting import Means, Presentation
from channels.telegram.presses import Presses
from channels.telegram.render import TEXT_LIMIT, UPLOAD_LIMIT_BYTES, Rendered, render
from channels.telegram.request import AiohttpRequest, proxy_from_environment
from channels.telegram.throttle import Throttle, pace_of

_LOGGER = logging.getLogger(__name__)
_SIGNS = {ReceiptSign.SEEN: "👀", ReceiptSign.DONE: "👌", ReceiptSign.FAILED: "💔"}  # bots may use only listed emoji
_SLOTS_OF_TEXT = ("text:", "waiting:")
_READ_SECONDS = 10.0


class _Bot(Bot):
    """The library's bot, whose `repr` shows no token."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Bot({bot_id_of(self.token)})"


REFUSED = "Telegram refuses channels.telegram.bot_token; get a valid one from @BotFather"


class TelegramChannel:
    """A bot on Telegram, by long polling. Telegram keeps all there is to keep, so `state_dir` stays empty."""

    def __init__(self, section: TelegramConfig, *, state_dir: Path | None = None) -> None:
        del state_dir
        self._section = section
        proxy = proxy_from_environment(section.base_url)
        self._request = AiohttpRequest(read_timeout_seconds=_READ_SECONDS, proxy=proxy)
        self._poll_request = AiohttpRequest(pool_size=2, read_timeout_seconds=_READ_SECONDS, proxy=proxy)
        self._bot = _made_bot(section, self._request, self._poll_request)
        self._throttle = Throttle(times=section.times_usual_pace)
        self._outbound = Outbound(self._bot)
        self._drafts = DraftBoard(self._outbound, self._throttle)
        self._presses = Presses(self._outbound)
        self._albums = Albums()
        self._poller = Poller(self._connect, self._fetch, self._handle, timeout_seconds=section.poll_timeout_seconds)
        self._listening: asyncio.Task[None] | None = None
        self._host: ChannelHost | None = None
        self._inbound: Inbound | None = None

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
        await asyncio.gather(self._request.initialize(), self._poll_request.initialize())
        refused = False
        try:
            await self._poller.connect()
        except InvalidToken:
            refused = True
        except (TelegramError, TimeoutError) as error:
            _LOGGER.warning("telegram: not reachable at start (%s); trying again", type(error).__name__)
        if refused:  # raised here, not above: the library's error must not hang on ours
            await self.close()
            raise ChannelNotConfigured(REFUSED)
        self._listening = asyncio.create_task(self._poller.run(), name="telegram polling")

    async def stop(self) -> None:
        """Stop listening; what was handled is confirmed, if Telegram answers at once."""
        if self._listening is None:
            return
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._listening = None
        with contextlib.suppress(TelegramError, TimeoutError):
            await self._poller.confirm()

    async def close(self) -> None:
        """Close the connections."""
        await self._drafts.close_all()
        await asyncio.gather(self._request.shutdown(), self._poll_request.shutdown())

    async def doctor(self) -> str:
        """Ask Telegram who the bot is, without listening. Raises ChannelNotConfigured, ChannelUnavailable."""
        await self._request.initialize()
        reason = ""
        try:
            bot = await self._bot.get_me()
        except InvalidToken:
            reason = "refused"
        except (TelegramError, TimeoutError) as error:
            reason = type(error).__name__
        if reason == "refused":  # raised here, not above: the library's error must not hang on ours
            raise ChannelNotConfigured(REFUSED)
        if reason:
            raise ChannelUnavailable(f"Telegram cannot be reached ({reason})")
        return f"answers as @{bot.username}"

    def health(self) -> ChannelHealth:
        """Whether updates can be heard."""
        return self._poller.health()

    async def deliver(self, target: DeliveryTarget, reply: Reply, receipt: DeliveryReceipt) -> DeliveryReceipt:
        """Show the snapshot: growing as a draft or in an edited message, in the end as messages and files."""
        if self._host is None:
            raise RuntimeError("the channel was not started")
        target.permit()
        means = Means(self._outbound, self._throttle, self._host)
        presentation = Presentation(means, target, receipt, is_final=reply.is_final)
        rendered = render(reply, thumbs=self._section.feedback)
        if self._grows_as_draft(target, reply, rendered, presentation):
            await self._show_growing(presentation, target, reply, rendered)
        else:
            await self._drafts.close(target.delivery_id)
            await self._show_standing(presentation, rendered)
        return presentation.receipt

    async def download(self, ref: FileRef, destination: Path) -> None:
        """Fetch a file (at most 20 MB). Raises FileUnavailable or a retryable ChannelError."""
        await download(self._bot, self._request, ref, destination)

    async def show_activity(self, target: DeliveryTarget) -> None:
        """Show "typing", and keep the draft of the answer alive."""
        target.permit()
        await self._outbound.typing(Address.of(target.conversation))
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

    async def _show_standing(self, presentation: Presentation, rendered: Rendered) -> None:
        for payload in rendered.texts:
            await presentation.show_text(payload)
        for file in rendered.files:
            await presentation.show_file(file)
        await presentation.withdraw_others(_SLOTS_OF_TEXT, {payload.slot for payload in rendered.texts})

    async def _connect(self) -> None:
        """Learn who we are, and take updates from a webhook that may be left over. Raises TelegramError."""
        me = await self._bot.get_me()
        await self._bot.delete_webhook()
        self._inbound = Inbound(BotIdentity(me.id, me.username or ""), self._drafts.runs)
        _LOGGER.info("telegram: answers as @%s", me.username)
        await self._show_menu()

    async def _show_menu(self) -> None:
        """Offer the commands, to admins theirs as well; a menu that cannot be set holds nothing up."""
        commands = self._host.commands if self._host is not None else ()
        everybodys = [each for each in commands if not each.for_admins]
        try:
            await self._bot.set_my_commands([BotCommand(each.name, each.summary) for each in everybodys])
            for admin in self._section.admins:
                menu = [BotCommand(each.name, each.summary) for each in commands]
                with contextlib.suppress(
                    BadRequest, Forbidden
                ):  # an admin who has not written to the bot, or blocked it
                    await self._bot.set_my_commands(menu, scope=BotCommandScopeChat(admin))
        except TelegramError as error:
            _LOGGER.warning("telegram: the menu of commands was not set (%s)", type(error).__name__)

    async def _fetch(self, offset: int | None, timeout_seconds: int) -> list[RawUpdate]:
        asked = {"timeout": timeout_seconds, "allowed_updates": orjson.dumps(UPDATE_TYPES).decode()}
        if offset is not None:
            asked["offset"] = offset
        url = f"{self._bot.base_url}/getUpdates?{urlencode(asked)}"
        answer = await self._poll_request.post(url, read_timeout=timeout_seconds + _READ_SECONDS)
        return cast("list[RawUpdate]", answer)

    async def _handle(self, raw: RawUpdate) -> None:
        """Give the house what a person did; what can't be read is passed over, for asking again would not mend it."""
        if self._host is None or self._inbound is None:
            raise RuntimeError("the channel was not started")
        try:
            update = Update.de_json(raw, self._bot)
            event = self._inbound.event(update, datetime.now(UTC))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            _LOGGER.warning("telegram: update %s is not understood (%s)", raw.get("update_id"), type(error).__name__)
            return
        if update.callback_query is not None:
            self._presses.remember(str(update.update_id), update.callback_query.id)
        if event is None:
            await self._presses.answer_unknown(str(update.update_id))
            return
        accepted = await self._host.submit(self._albums.completed(event))
        await self._presses.answer_ignored(event.dedupe_key, accepted.outcome)


def _made_bot(section: TelegramConfig, request: AiohttpRequest, poll_request: AiohttpRequest) -> Bot:
    """The bot; the library logs URLs, and with them the token, at DEBUG, so that level is closed to it."""
    if section.bot_token is None:
        raise ChannelNotConfigured("channels.telegram.bot_token is missing; get one from @BotFather")
    token = section.bot_token.get_secret_value()
    library = logging.getLogger("telegram")
    library.setLevel(max(library.level, logging.INFO))
    server = section.base_url.rstrip("/")
    try:
        bot_id_of(token)
    except ValueError:
        raise ChannelNotConfigured("channels.telegram.bot_token is no token; it looks like 123456:ABC…") from None
    return _Bot(token, f"{server}/bot", f"{server}/file/bot", request=request, get_updates_request=poll_request)
