"""Mistakes in the section are said in words that help."""

from typing import Any

import pytest
from pydantic import ValidationError

from channels.telegram.config import TelegramConfig
from channels.telegram.webhook import address_of, secret_of

TOKEN = "4242:TEST"
WEBHOOK = {"enabled": True, "bot_token": TOKEN, "transport": "webhook"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "needs public_url"),
        ({"public_url": "bot.example.com"}, "must look like https://"),
        ({"public_url": "https://bot.example.com/?a=b"}, "must look like https://"),
        ({"public_url": "http://bot.example.com"}, "https only"),
        ({"public_url": "https://bot.example.com:8001"}, "443, 80, 88 or 8443"),
        ({"public_url": "https://bot.example.com", "webhook_secret": "too short"}, "16 to 256"),
    ],
)
def test_what_a_webhook_needs(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        TelegramConfig.model_validate({**WEBHOOK, **wrong})


@pytest.mark.parametrize("key", ["admins", "allowed_users"])
def test_a_name_where_an_id_belongs_is_a_mistake(key: str) -> None:
    with pytest.raises(ValidationError, match="numbers, not '@ana'"):
        TelegramConfig.model_validate({key: [4711, "@ana"]})
    assert getattr(TelegramConfig.model_validate({key: [4711, -1001234567890]}), key) == ("4711", "-1001234567890")


def test_a_server_of_ones_own_may_call_any_address() -> None:
    section = {**WEBHOOK, "base_url": "http://10.0.0.5:8081", "public_url": "http://10.0.0.6:8001/bot/"}
    assert address_of(TelegramConfig.model_validate(section)) == "http://10.0.0.6:8001/bot/telegram/webhook"


def test_the_secret_is_made_from_the_token_which_it_does_not_show() -> None:
    section = TelegramConfig.model_validate({**WEBHOOK, "public_url": "https://bot.example.com"})
    other = section.model_copy(update={"bot_token": TelegramConfig(bot_token="4242:OTHER").bot_token})
    assert len({secret_of(section), secret_of(other)}) == 2
    assert "TEST" not in secret_of(section)
    assert secret_of(section.model_copy()) == secret_of(section)
    own = TelegramConfig.model_validate({**section.model_dump(), "webhook_secret": "0123456789abcdef"})
    assert secret_of(own) == "0123456789abcdef"
