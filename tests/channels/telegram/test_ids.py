"""Every id survives its way out and back."""

import uuid
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.contract import ConversationKey, PressAction
from channels.telegram.ids import (
    Address,
    ChoicePress,
    StopPress,
    ThumbPress,
    bot_id_of,
    callback_data,
    draft_id,
    parse_callback_data,
)

_TOKENS = st.text("ABCXYZabcxyz0189_-", min_size=1, max_size=16)


@given(st.integers(-(2**52), 2**52).filter(bool), st.none() | st.integers(2, 2**31))
def test_an_address_is_one_conversation_and_the_reverse(chat_id: int, topic: int | None) -> None:
    address = Address(chat_id, topic)
    key = ConversationKey.parse(str(address.conversation(42)))
    assert Address.of(key) == address
    assert key.account == "42"


def test_another_channels_conversation_has_no_address() -> None:
    with pytest.raises(ValueError, match="not a conversation on Telegram"):
        Address.of(ConversationKey("slack", "T1", "C1"))


_BY_BUTTON = st.sampled_from([action for action in PressAction if action is not PressAction.SUBMIT])


@given(_TOKENS, st.none() | st.integers(0, 99), _BY_BUTTON, st.integers(0, 15))
def test_a_choice_fits_a_button_and_comes_back(token: str, option: int | None, action: PressAction, step: int) -> None:
    press = ChoicePress(token, option, action, step)
    data = callback_data(press)
    assert len(data.encode()) <= 64
    assert parse_callback_data(data) == press


@given(st.uuids().map(str) | st.text(max_size=80) | st.uuids().map(lambda run: run.hex.upper()))
def test_a_stop_names_its_run_or_none(run_id: str) -> None:
    data = callback_data(StopPress(run_id))
    assert 1 <= len(data.encode()) <= 64
    expected = run_id if (run_id and len(f"s:={run_id}".encode()) <= 64) or _is_uuid(run_id) else None
    assert parse_callback_data(data) == StopPress(expected)


@given(st.uuids().map(str) | st.text(min_size=1, max_size=40), st.sampled_from([1, -1]))
def test_a_thumb_names_its_run(run_id: str, rating: Literal[1, -1]) -> None:
    assert parse_callback_data(callback_data(ThumbPress(run_id, rating))) == ThumbPress(run_id, rating)


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


@pytest.mark.parametrize(
    "data",
    [
        "",
        "c",
        "c:",
        "c:tok",
        "c:tok:x",
        "c:tok:-1",
        "c:tok:²",
        "x:1",
        "c::1",
        "c:a:1:2",
        "f:",
        "f:+",
        "f:x",
        "c:a:1x2",
        "c:a:+2",
    ],
)
def test_what_no_button_of_ours_carries_is_no_press(data: str) -> None:
    assert parse_callback_data(data) is None


@pytest.mark.parametrize("data", ["s:!!", "s:AAAA", "s:é"])
def test_a_damaged_run_id_stops_whatever_runs(data: str) -> None:
    assert parse_callback_data(data) == StopPress(None)


@given(st.text())
def test_a_draft_id_is_stable_positive_and_fits_32_bits(delivery_id: str) -> None:
    assert 0 < draft_id(delivery_id) < 2**31
    assert draft_id(delivery_id) == draft_id(delivery_id)


def test_the_bots_id_stands_in_its_token() -> None:
    assert bot_id_of("123456:ABC-def") == 123456
    with pytest.raises(ValueError, match="invalid literal"):
        bot_id_of("nonsense")
