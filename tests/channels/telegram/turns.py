"""One question and the delivery of its answer, as the tests of the adapter use it."""

import asyncio

from channels.contract import ChannelUnavailable, InboundEvent, RateLimited, Reply, ReplyPart, ReplyPhase, Text
from channels.telegram.adapter import TelegramChannel
from channels.telegram.config import TelegramConfig
from tests.contracts.host import Ledger, MemoryHost
from tests.simulators.telegram.client import Person, TelegramSimulator
from tests.simulators.telegram.views import MessageView

RUN = "6f1c2b3a-0d4e-4f5a-9b6c-7d8e9f0a1b2c"
MENTION = "@threadbridge_bot "


def made_channel(telegram: TelegramSimulator, **settings: object) -> TelegramChannel:
    described = {"enabled": True, "bot_token": telegram.token, "base_url": telegram.base_url, "poll_timeout_seconds": 1}
    return TelegramChannel(TelegramConfig.model_validate({**described, **settings}))


def at(phase: ReplyPhase, *parts: ReplyPart) -> Reply:
    return Reply(parts, phase, RUN)


def working(text: str, *parts: ReplyPart) -> Reply:
    return at(ReplyPhase.WORKING, Text("m", text), *parts)


def final(text: str, *parts: ReplyPart) -> Reply:
    return at(ReplyPhase.FINAL, Text("m", text), *parts)


class Turn:
    """One question of a person and the delivery of its answer."""

    def __init__(self, channel: TelegramChannel, event: InboundEvent) -> None:
        self.channel = channel
        self.event = event
        self.ledger = Ledger()
        self.target = self.ledger.target(f"delivery of {event.conversation} {event.dedupe_key}", event)

    @property
    def chat(self) -> int:
        return int(self.event.conversation.chat)

    @property
    def message_id(self) -> int:
        return int(getattr(self.event, "message_id"))  # noqa: B009 - only messages begin a turn

    async def show(self, reply: Reply) -> None:
        await self.channel.deliver(self.target, reply, self.ledger.receipt)

    async def show_at_last(self, reply: Reply) -> None:
        """As the house does: again when the channel says so."""
        async with asyncio.timeout(60):
            while True:
                try:
                    await self.show(reply)
                except (RateLimited, ChannelUnavailable) as error:
                    await asyncio.sleep(getattr(error, "retry_after_seconds", 0.2))
                else:
                    return


async def asked(
    channel: TelegramChannel, host: MemoryHost, person: Person, text: str = "go", **where: int | None
) -> Turn:
    """A turn, begun by a message of this person."""
    count = len(host.events)
    await person.send(text, **where)
    return Turn(channel, (await host.wait_for(count + 1))[-1])


async def posted(telegram: TelegramSimulator, chat: int) -> tuple[MessageView, ...]:
    """The bot's messages that stand in a chat."""
    return (await telegram.chat(chat)).from_bot


async def texts(telegram: TelegramSimulator, chat: int) -> list[str]:
    return [message.text for message in await posted(telegram, chat)]


async def all_heard(host: MemoryHost, person: Person) -> None:
    """Return when everything that happened so far was heard, for updates come in order."""
    await person.send("that was all")
    await host.wait_for_text("that was all")
