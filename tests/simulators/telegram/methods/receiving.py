"""How updates come: long polling or a webhook."""

import re
from typing import Any

from ..api import Arguments, BotApi
from ..errors import broken_rule
from ..updates import Webhook
from ..webhook import deliver

_SECRET_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,256}")
_ENDED_BY_WEBHOOK = "Conflict: terminated by setWebhook request"


async def get_updates(api: BotApi, arguments: Arguments) -> list[dict[str, Any]]:
    api.updates.allow(arguments.get("allowed_updates"))
    limit = arguments.get("limit", 100)
    if not 1 <= limit <= 100:
        limit = 100
    return await api.updates.get(arguments.get("offset", 0), limit, max(arguments.get("timeout", 0), 0))


async def set_webhook(api: BotApi, arguments: Arguments) -> bool:
    await _remove(api)
    secret_token = arguments.get("secret_token")
    if secret_token is not None and not _SECRET_TOKEN.fullmatch(secret_token):
        raise broken_rule("secret token contains unallowed characters")
    if not 1 <= arguments.get("max_connections", 40) <= 100:
        raise broken_rule("max_connections must be 1-100")
    api.updates.allow(arguments.get("allowed_updates"))
    if arguments.get("drop_pending_updates"):
        api.updates.drop()
    if arguments["url"]:
        api.updates.interrupt_poll(_ENDED_BY_WEBHOOK)
        webhook = Webhook(arguments["url"], secret_token, arguments.get("max_connections", 40))
        api.updates.webhook = webhook
        deliver(api, webhook)
    return True


async def delete_webhook(api: BotApi, arguments: Arguments) -> bool:
    await _remove(api)
    if arguments.get("drop_pending_updates"):
        api.updates.drop()
    return True


async def webhook_info(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    webhook = api.updates.webhook
    described: dict[str, Any] = {
        "url": webhook.url if webhook else "", "has_custom_certificate": False,
        "pending_update_count": len(api.updates.pending),
    }  # fmt: skip
    if webhook is not None:
        described |= {"max_connections": webhook.max_connections, "allowed_updates": api.updates.allowed}
    if webhook is not None and webhook.last_error is not None:
        described |= {"last_error_message": webhook.last_error, "last_error_date": webhook.last_error_at}
    return described


async def _remove(api: BotApi) -> None:
    webhook, api.updates.webhook = api.updates.webhook, None
    if webhook is not None and webhook.task is not None:
        webhook.task.cancel()


METHODS = {
    "getUpdates": get_updates,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": webhook_info,
}
