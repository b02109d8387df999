"""Delivers updates to a webhook, each chat's in order, with doubling delays until it takes them."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from .api import BotApi
from .updates import QueuedUpdate, Webhook

_FIRST_RETRY_SECONDS = 1
_LONGEST_RETRY_SECONDS = 60
_LONGEST_RETRY_AFTER_SECONDS = 3600
_REPLY_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why an update was not taken, and the wait the webhook asked for."""

    reason: str
    retry_after: int | None = None


def deliver(api: BotApi, webhook: Webhook) -> None:
    """Start the task that owns the delivery; it ends when the webhook is removed."""
    added = asyncio.Event()
    added.set()
    api.updates.on_added = added.set
    webhook.task = asyncio.create_task(_run(api, webhook, added))


async def _run(api: BotApi, webhook: Webhook, added: asyncio.Event) -> None:
    chats: dict[Any, asyncio.Task[None]] = {}
    connections = asyncio.Semaphore(webhook.max_connections)
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
        while True:
            await added.wait()
            added.clear()
            for update in api.updates.pending:
                chat = _chat_of(update.body)
                if chat not in chats or chats[chat].done():
                    chats[chat] = tasks.create_task(_deliver_chat(api, webhook, session, chat, connections))


async def _deliver_chat(
    api: BotApi, webhook: Webhook, session: aiohttp.ClientSession, chat: Any, connections: asyncio.Semaphore
) -> None:
    retry_after = _FIRST_RETRY_SECONDS
    while (update := _next_of(api, chat)) is not None:
        async with connections:
            refusal = await _post(webhook, session, update)
        if refusal is None:
            api.updates.confirm(update.id)
            retry_after = _FIRST_RETRY_SECONDS
        else:
            webhook.last_error, webhook.last_error_at = refusal.reason, int(time.time())
            await api.clock.sleep(retry_after if refusal.retry_after is None else refusal.retry_after)
            retry_after = min(retry_after * 2, _LONGEST_RETRY_SECONDS)


async def _post(webhook: Webhook, session: aiohttp.ClientSession, update: QueuedUpdate) -> _Refusal | None:
    """None when the update was taken."""
    headers = {"Content-Type": "application/json"}
    if webhook.secret_token is not None:
        headers["X-Telegram-Bot-Api-Secret-Token"] = webhook.secret_token
    timeout = aiohttp.ClientTimeout(total=_REPLY_TIMEOUT_SECONDS)
    try:
        async with session.post(webhook.url, data=orjson.dumps(update.body), headers=headers, timeout=timeout) as reply:
            return None if reply.ok else _refused(reply)
    except (aiohttp.ClientError, TimeoutError):
        return _Refusal("Connection refused")


def _refused(reply: aiohttp.ClientResponse) -> _Refusal:
    asked = reply.headers.get("Retry-After", "")
    retry_after = min(int(asked), _LONGEST_RETRY_AFTER_SECONDS) if asked.isdigit() else None
    return _Refusal(f"Wrong response from the webhook: {reply.status} {reply.reason}", retry_after)


def _next_of(api: BotApi, chat: Any) -> QueuedUpdate | None:
    return next((update for update in api.updates.pending if _chat_of(update.body) == chat), None)


def _chat_of(update: dict[str, Any]) -> Any:
    body = next(value for name, value in update.items() if name != "update_id")
    holder = body.get("message", body)
    return holder.get("chat", {}).get("id")
