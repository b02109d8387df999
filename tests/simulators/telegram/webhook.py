"""Delivers updates to a webhook, each chat's in order, with doubling delays until it takes them."""

import asyncio
from typing import Any

import aiohttp
import orjson

from .api import BotApi
from .updates import QueuedUpdate, Webhook

_FIRST_RETRY_SECONDS = 1
_LONGEST_RETRY_SECONDS = 60
_REPLY_TIMEOUT_SECONDS = 60


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
        webhook.last_error = refusal
        if refusal is None:
            api.updates.confirm(update.id)
            retry_after = _FIRST_RETRY_SECONDS
        else:
            await api.clock.sleep(retry_after)
            retry_after = min(retry_after * 2, _LONGEST_RETRY_SECONDS)


async def _post(webhook: Webhook, session: aiohttp.ClientSession, update: QueuedUpdate) -> str | None:
    """None when the update was taken, else the reason why not."""
    headers = {"Content-Type": "application/json"}
    if webhook.secret_token is not None:
        headers["X-Telegram-Bot-Api-Secret-Token"] = webhook.secret_token
    timeout = aiohttp.ClientTimeout(total=_REPLY_TIMEOUT_SECONDS)
    try:
        async with session.post(webhook.url, data=orjson.dumps(update.body), headers=headers, timeout=timeout) as reply:
            return None if reply.ok else f"Wrong response from the webhook: {reply.status} {reply.reason}"
    except (aiohttp.ClientError, TimeoutError) as error:
        return f"Connection failed: {error}"


def _next_of(api: BotApi, chat: Any) -> QueuedUpdate | None:
    return next((update for update in api.updates.pending if _chat_of(update.body) == chat), None)


def _chat_of(update: dict[str, Any]) -> Any:
    body = next(value for name, value in update.items() if name != "update_id")
    holder = body.get("message", body)
    return holder.get("chat", {}).get("id")
