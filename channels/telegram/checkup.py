"""Looks at the bot from outside for `threadbridge doctor`: who it is, what it may read, who else takes its messages."""

import asyncio
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from telegram import Bot, User, WebhookInfo
from telegram.error import Conflict

from channels.contract import Remark, Speaks, Surroundings
from channels.telegram.config import TelegramConfig, Transport
from channels.telegram.standing import FOREIGN_WEBHOOK, OTHER_POLLER
from channels.telegram.webhook import address_of, undelivered

_PROBE_SECONDS = 5  # other programs ask again within a few seconds after they were interrupted
_GRACE_SECONDS = 10.0
PRIVACY_MODE = (
    "the bot's privacy mode is on, so in groups Telegram shows it only commands, mentions and replies to it; to let it read all, "
    "write /setprivacy to @BotFather, choose Disable, and take the bot out of its groups and into them again (or make it an admin there)"
)


async def examine(bot: Bot, section: TelegramConfig, task: str, around: Surroundings) -> Sequence[Remark]:
    """What can be found out; `task` is what a replica that listens is at. Raises TelegramError, TimeoutError."""
    me = await bot.get_me()
    remarks = [Remark(f"answers as @{me.username}"), *_privacy(me, section, around)]
    info = await bot.get_webhook_info()
    if section.transport is Transport.WEBHOOK:
        return [*remarks, *_as_webhook(info, address_of(section))]
    is_listening = task in around.tasks
    if info.url:
        return [*remarks, _left_over(info, is_listening=is_listening)]
    if is_listening:
        return [*remarks, Remark("a running bridge listens")]
    return [*remarks, *([Remark(OTHER_POLLER, is_warning=True)] if await _is_polled_by_another(bot) else [])]


def reads_too_little(me: User, section: TelegramConfig) -> bool:
    """Whether the bot is to answer in groups what Telegram does not show it."""
    return section.speaks is Speaks.ALWAYS and not me.can_read_all_group_messages


def _privacy(me: User, section: TelegramConfig, around: Surroundings) -> Iterator[Remark]:
    if reads_too_little(me, section):
        yield Remark(f"speaks: always does not work: {PRIVACY_MODE}", is_warning=True)
    elif around.overhears and not me.can_read_all_group_messages:
        yield Remark(f"inbox.overheard_messages does not work: {PRIVACY_MODE}", is_warning=True)


def _as_webhook(info: WebhookInfo, address: str) -> Iterator[Remark]:
    if info.url != address:
        found = f"a webhook to {urlsplit(info.url).hostname} is set" if info.url else "no webhook is set"
        yield Remark(f"{found}; the bridge sets its own when it starts")
    elif problem := undelivered(info):
        yield Remark(problem, is_warning=True)
    else:
        yield Remark(f"Telegram calls {address}")


def _left_over(info: WebhookInfo, *, is_listening: bool) -> Remark:
    if is_listening:
        return Remark(FOREIGN_WEBHOOK, is_warning=True)
    host = urlsplit(info.url).hostname
    return Remark(
        f"a webhook to {host} is set, which takes all messages; the bridge removes it when it starts, since transport is polling; "
        "if another program needs it, give one of them a bot of its own",
        is_warning=True,
    )


async def _is_polled_by_another(bot: Bot) -> bool:
    """Hold a question for a moment, confirming nothing: who else asks interrupts it."""
    try:
        async with asyncio.timeout(_PROBE_SECONDS + _GRACE_SECONDS):
            await bot.get_updates(limit=1, timeout=_PROBE_SECONDS, read_timeout=_GRACE_SECONDS)
    except Conflict:
        return True
    return False
