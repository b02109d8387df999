"""The contract suite's bench for Telegram: the adapter, python-telegram-bot and the strict simulator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from channels.contract import ChoiceSelected, MessageReceived, Press, SendNowRequested, StopRequested
from channels.telegram.adapter import TelegramChannel
from channels.telegram.config import TelegramConfig
from tests.contracts.host import MemoryHost
from tests.simulators.telegram.client import TelegramSimulator
from tests.simulators.telegram.views import ChatView, Upload


class TelegramHarness:
    """Ana, her private chat with the bot, and the adapter that polls."""

    has_no: ClassVar[Mapping[str, str]] = {}

    def __init__(self, platform: TelegramSimulator) -> None:
        self.simulator = platform
        self.host = MemoryHost()
        self.secrets = [self.simulator.token, self.simulator.token.partition(":")[2]]
        self._queries: dict[str, str] = {}

    @classmethod
    def platform(cls) -> TelegramSimulator:
        return TelegramSimulator()

    async def open(self, folder: Path) -> None:
        self._known_violations = len(await self.simulator.violations())
        self.ana = await self.simulator.person("Ana")
        self.channel = self._made()
        await self.channel.start(self.host)

    async def close(self) -> None:
        await self.channel.stop()
        await self.channel.close()
        await self.simulator.clear_faults()

    async def restart(self) -> None:
        await self.channel.stop()
        await self.channel.close()
        self.channel = self._made()
        await self.channel.start(self.host)

    async def say(self, text: str, file: tuple[str, bytes] | None = None) -> MessageReceived:
        count = len(self.host.events)
        await self.ana.send(text, files=[Upload(*file)] if file else [])
        event = (await self.host.wait_for(count + 1))[-1]
        assert isinstance(event, MessageReceived)
        return event

    async def deliver_again(self, event: MessageReceived) -> None:
        await self.simulator.redeliver(int(event.dedupe_key))
        await self.ana.send("after it")  # heard after the double, for updates come in order
        await self.host.wait_for_text("after it")

    async def shown(self, event: MessageReceived) -> str:
        return "\n".join(message.text for message in (await self._chat(event)).from_bot)

    async def preview(self, event: MessageReceived) -> str:
        chat = await self._chat(event)
        return "\n".join(draft.text for draft in chat.drafts) or await self.shown(event)

    async def files_shown(self, event: MessageReceived) -> list[bytes]:
        sent = [message.file for message in (await self._chat(event)).from_bot if message.file]
        return [await self.simulator.file(file["file_id"]) for file in sent]

    async def press(self, event: MessageReceived, label: str) -> Press:
        count = len(self.host.events)
        chat = await self._chat(event)
        if any(draft.can_stop for draft in chat.drafts) and label == "⏹ Stop":
            await self.ana.stop()
            query = ""
        else:
            carrier = next(m for m in chat.from_bot if any(button["text"] == label for button in m.buttons))
            query = await self.ana.press_label(carrier.message_id, label)
        pressed = (await self.host.wait_for(count + 1))[-1]
        assert isinstance(pressed, ChoiceSelected | StopRequested | SendNowRequested)
        self._queries[pressed.dedupe_key] = query
        return pressed

    async def press_answer(self, press: Press) -> str | None:
        answers = await self.simulator.press_answers(self._queries[press.dedupe_key])
        return answers[-1].get("text", "") if answers else None

    async def refuse_next_posts(self, count: int, retry_after_seconds: int) -> None:
        await self.simulator.fault("flood", "sendMessage", count=count, retry_after=retry_after_seconds)

    async def lose_next_reply(self) -> None:
        await self.simulator.fault("lose_reply", "sendMessage")

    async def violations(self) -> list[Any]:
        return (await self.simulator.violations())[self._known_violations :]

    def _made(self) -> TelegramChannel:
        simulator = self.simulator
        return TelegramChannel(
            TelegramConfig(enabled=True, bot_token=simulator.token, base_url=simulator.base_url, poll_timeout_seconds=1)
        )

    async def _chat(self, event: MessageReceived) -> ChatView:
        return await self.simulator.chat(int(event.conversation.chat))
