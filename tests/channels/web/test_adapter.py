from dataclasses import replace
from pathlib import Path

import pytest

from channels.contract import (
    Channel,
    ChatKind,
    ConversationKey,
    DeliveryReceipt,
    DeliveryTarget,
    FileRef,
    FileUnavailable,
    PieceState,
    Reply,
    ReplyPhase,
    SupportsHttpRoutes,
    Text,
)
from channels.registry import PLUGINS
from channels.web.adapter import WebChannel
from channels.web.config import WebConfig
from channels.web.ids import make_key, new_id
from tests.channels.web.house import MemoryHouse

KEY = make_key(new_id(), new_id())
REPLY = Reply((Text("m", "hi"),), ReplyPhase.FINAL, "r")


class LeaseGone(Exception):
    pass


def target(conversation: ConversationKey = KEY, *, permitted: bool = True) -> DeliveryTarget:
    def permit() -> None:
        if not permitted:
            raise LeaseGone

    async def record(_: DeliveryReceipt) -> None:
        return None

    return DeliveryTarget("d1", conversation, ChatKind.PRIVATE, permit, record)


@pytest.fixture
def channel(tmp_path: Path) -> WebChannel:
    return WebChannel(WebConfig(), state_dir=tmp_path)


def test_the_registry_builds_it(tmp_path: Path) -> None:
    channel: Channel = PLUGINS["web"].build(WebConfig(), state_dir=tmp_path)
    assert channel.name == "web"
    assert isinstance(channel, SupportsHttpRoutes)


async def test_a_delivery_nobody_looks_at_succeeds_and_repeating_it_changes_nothing(channel: WebChannel) -> None:
    first = await channel.deliver(target(), REPLY, DeliveryReceipt())
    again = await channel.deliver(target(), REPLY, first)
    assert first == again
    [piece] = first.pieces
    assert (piece.slot, piece.state, piece.message_id) == ("page", PieceState.SENT, "d1")


async def test_a_delivery_is_recorded_before_and_after_it_is_first_shown_and_not_again(channel: WebChannel) -> None:
    recorded: list[DeliveryReceipt] = []

    async def record(receipt: DeliveryReceipt) -> None:
        recorded.append(receipt)

    there = replace(target(), record=record)
    first = await channel.deliver(there, REPLY, DeliveryReceipt())
    assert [receipt.pieces[0].state for receipt in recorded] == [PieceState.ATTEMPTING, PieceState.SENT]
    await channel.deliver(there, Reply((Text("m", "more"),), ReplyPhase.FINAL, "r"), first)
    assert len(recorded) == 2


async def test_a_changed_reply_changes_the_receipt(channel: WebChannel) -> None:
    first = await channel.deliver(target(), REPLY, DeliveryReceipt())
    other = await channel.deliver(target(), Reply((Text("m", "ho"),), ReplyPhase.FINAL, "r"), first)
    assert len(other.pieces) == 1
    assert other.pieces[0].digest != first.pieces[0].digest


async def test_who_may_no_longer_speak_is_not_heard(channel: WebChannel) -> None:
    with pytest.raises(LeaseGone):
        await channel.deliver(target(permitted=False), REPLY, DeliveryReceipt())


async def test_a_conversation_of_another_channel_is_refused(channel: WebChannel) -> None:
    with pytest.raises(ValueError, match="not a conversation of the page"):
        await channel.deliver(target(ConversationKey("telegram", "1", "2")), REPLY, DeliveryReceipt())


async def test_health_follows_start_and_stop(channel: WebChannel, tmp_path: Path) -> None:
    assert not channel.health().ok
    await channel.start(MemoryHouse(tmp_path))
    assert channel.health().ok
    await channel.stop()
    assert not channel.health().ok
    assert await channel.deliver(target(), REPLY, DeliveryReceipt())
    await channel.close()


async def test_there_is_nothing_to_download_from_the_page(channel: WebChannel, tmp_path: Path) -> None:
    with pytest.raises(FileUnavailable) as caught:
        await channel.download(FileRef("x", "x"), tmp_path / "x")
    assert caught.value.user_message
