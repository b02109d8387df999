"""What the contract suite needs of an adapter's test bench: a person, their screen, and the platform's moods."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from channels.contract import Channel, MessageReceived, Press
from tests.contracts.host import MemoryHost


class ChannelHarness(Protocol):
    """One adapter, connected to a simulated (or, for a page of ours, real) platform with one person on it.

    `host` is the house the adapter submits to; `secrets` are the strings that must never leave it.
    `has_no` names the tests of which the platform has no counterpart, each with the reason.
    """

    channel: Channel
    host: MemoryHost
    secrets: Sequence[str]
    has_no: ClassVar[Mapping[str, str]]

    def __init__(self, platform: Any) -> None: ...

    @classmethod
    def platform(cls) -> AbstractAsyncContextManager[Any]:
        """The platform as long as it runs; shared by the tests of a module, each of which has a person of its own."""

    async def open(self, folder: Path) -> None:
        """Make a new person and start the adapter."""

    async def close(self) -> None:
        """Stop the adapter, and take back what the platform was told to do wrong."""

    async def restart(self) -> None:
        """Stop the adapter and start a new instance of it; the platform and the host stay."""

    async def say(self, text: str, file: tuple[str, bytes] | None = None) -> MessageReceived:
        """The person writes to the bot in private; the event the host got."""

    async def deliver_again(self, event: MessageReceived) -> None:
        """The platform delivers the same message a second time, and the adapter has heard it when this returns."""

    async def shown(self, event: MessageReceived) -> str:
        """All text of the bot that stands on the person's screen now, oldest first, previews of unfinished text excluded."""

    async def preview(self, event: MessageReceived) -> str:
        """What the person sees of an unfinished answer, wherever it is shown."""

    async def files_shown(self, event: MessageReceived) -> list[bytes]:
        """The files the bot sent there."""

    async def press(self, event: MessageReceived, label: str) -> Press:
        """The person presses the button that shows `label`; the event the host got."""

    async def press_answer(self, press: Press) -> str | None:
        """What the person was told about that press, or None if nothing yet."""

    async def refuse_next_posts(self, count: int, retry_after_seconds: int) -> None:
        """The platform refuses the next posts for their rate."""

    async def lose_next_reply(self) -> None:
        """The next post takes effect, but its answer is lost."""

    async def violations(self) -> list[Any]:
        """The platform's rules that were broken since `open`."""
