"""Listens by webhook: Telegram calls the gateway, and is answered 200 only after the update is safe in the house."""

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from urllib.parse import urlsplit

import orjson
from aiohttp import web
from telegram import Bot, WebhookInfo

from channels.contract import ChannelHealth, ChannelHost
from channels.telegram.config import TelegramConfig
from channels.telegram.inbound import update_types
from channels.telegram.receiving import RawUpdate, Receiving
from channels.telegram.standing import Standing

_LOGGER = logging.getLogger(__name__)
PATH = "/telegram/webhook"
_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name
_GRACE_SECONDS = 20.0
_CHECK_SECONDS = 60.0
_BODY_SECONDS = 10.0
_MOST_BODY_BYTES = 1_000_000  # an update has a few kilobytes
_RETRY_HEADERS = {"Retry-After": "2"}


def address_of(section: TelegramConfig) -> str:
    """Where Telegram calls; the gateway may stand behind a proxy that adds a path."""
    return f"{(section.public_url or '').rstrip('/')}{PATH}"


def secret_of(section: TelegramConfig) -> str:
    """What Telegram proves itself with: the configured secret, or one that only those can make who know the bot's token."""
    if section.webhook_secret is not None:
        return section.webhook_secret.get_secret_value()
    token = section.bot_token.get_secret_value() if section.bot_token else ""
    return hmac.new(token.encode(), b"threadbridge.telegram.webhook", hashlib.sha256).hexdigest()


class Webhook:
    """Takes what Telegram sends, sees to it that Telegram sends it here, and knows how it stands."""

    def __init__(
        self, bot: Bot, section: TelegramConfig, receiving: Receiving, connect: Callable[[], Awaitable[None]]
    ) -> None:
        self._bot = bot
        self._receiving = receiving
        self._connect = connect
        self._address = address_of(section)
        self._secret = secret_of(section).encode()
        self._most_connections = section.webhook_connections
        self._takes_reactions = section.feedback
        self._standing = Standing()
        self._undelivered = ""
        self._is_open = False
        self._under_way: set[asyncio.Task[web.Response]] = set()
        self._keeping: asyncio.Task[None] | None = None

    def routes(self) -> list[web.RouteDef]:
        """The one address that Telegram calls."""
        return [web.post(PATH, self._answer)]

    def health(self) -> ChannelHealth:
        """Whether Telegram could be told where to call, and whether its calls arrive."""
        health = self._standing.health()
        return ChannelHealth(ok=False, detail=self._undelivered) if health.ok and self._undelivered else health

    async def connect(self) -> None:
        """Learn who we are and tell Telegram where to call. Raises TelegramError, TimeoutError."""
        async with asyncio.timeout(_GRACE_SECONDS):
            await self._connect()
            await self._set()
        self._standing.connected()

    def start(self, host: ChannelHost, task: str) -> None:
        """Take updates. Every replica may, so that nothing is done alone."""
        del host, task
        self._is_open = True
        self._keeping = asyncio.create_task(self._keep(), name="telegram webhook")

    async def stop(self) -> None:
        """Take nothing more (Telegram keeps it); what is under way ends."""
        self._is_open = False
        if self._keeping is not None:
            self._keeping.cancel()
        await asyncio.gather(*([self._keeping] if self._keeping else []), *self._under_way, return_exceptions=True)

    async def _answer(self, request: web.Request) -> web.Response:
        given = request.headers.get(_SECRET_HEADER, "").encode(errors="surrogateescape")
        if not hmac.compare_digest(given, self._secret):
            return web.Response(status=HTTPStatus.FORBIDDEN)
        if not self._is_open or not self._receiving.is_ready:
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, headers=_RETRY_HEADERS)
        task = asyncio.create_task(self._taken(request))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await task

    async def _taken(self, request: web.Request) -> web.Response:
        update = await _update_in(request)
        if isinstance(update, HTTPStatus):
            return web.Response(status=update)
        try:
            await self._receiving.take(update)
        except Exception as error:  # noqa: BLE001 - the edge of the request: whatever it was, Telegram is to come again
            self._standing.failed(error)
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, headers=_RETRY_HEADERS)
        self._standing.heard()
        self._standing.well()
        self._undelivered = ""
        return web.Response()

    async def _keep(self) -> None:
        """See to it again and again that Telegram calls here, until cancelled."""
        pause = _CHECK_SECONDS if self._standing.is_connected else 0.0
        while True:
            await asyncio.sleep(pause)
            try:
                await (self._check() if self._standing.is_connected else self.connect())
            except Exception as error:  # noqa: BLE001 - the edge of the task: whatever it was, it goes on
                pause = self._standing.failed(error)
            else:
                self._standing.well()
                pause = _CHECK_SECONDS

    async def _set(self) -> None:
        await self._bot.set_webhook(
            self._address,
            secret_token=self._secret.decode(),
            allowed_updates=update_types(reactions=self._takes_reactions),
            max_connections=self._most_connections,
        )
        _LOGGER.info("telegram: listens by webhook at %s", self._address)

    async def _check(self) -> None:
        info = await self._bot.get_webhook_info()
        self._standing.heard()
        if info.url != self._address:
            _LOGGER.warning("telegram: another program has %s; it is set anew", _done_by_another(info))
            await self._set()
        self._undelivered = undelivered(info)


def undelivered(info: WebhookInfo) -> str:
    """Why Telegram's calls do not arrive, or nothing. Telegram remembers an error for long after it has passed."""
    lately = datetime.now(UTC) - timedelta(seconds=2 * _CHECK_SECONDS)
    if not info.pending_update_count or info.last_error_date is None or info.last_error_date < lately:
        return ""
    return (
        f"Telegram can't deliver {info.pending_update_count} updates to the webhook ({info.last_error_message}); "
        "see that channels.telegram.public_url leads to this gateway from outside"
    )


def _done_by_another(info: WebhookInfo) -> str:
    return f"set a webhook to {urlsplit(info.url).hostname}" if info.url else "removed the webhook"


async def _update_in(request: web.Request) -> RawUpdate | HTTPStatus:
    """The update a call brings, or how to refuse it."""
    if (request.content_length or 0) > _MOST_BODY_BYTES:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            body = await request.read()
    except TimeoutError:
        return HTTPStatus.REQUEST_TIMEOUT
    if len(body) > _MOST_BODY_BYTES:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    try:
        update = orjson.loads(body)
    except orjson.JSONDecodeError:
        return HTTPStatus.BAD_REQUEST
    return update if isinstance(update, dict) and isinstance(update.get("update_id"), int) else HTTPStatus.BAD_REQUEST
