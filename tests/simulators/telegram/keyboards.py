"""Checks inline keyboards against the limits of the Bot API."""

from typing import Any

from .errors import broken_rule
from .utf16 import utf16_length

_ACTIONS = {
    "url", "callback_data", "web_app", "login_url", "switch_inline_query", "switch_inline_query_current_chat",
    "switch_inline_query_chosen_chat", "copy_text", "callback_game", "pay",
}  # fmt: skip
_MOST_BUTTONS = 100
_MOST_IN_A_ROW = 8
_CALLBACK_DATA_BYTES = 64
_COPY_TEXT_UNITS = 256
_STYLES = {"primary", "success", "danger"}


def checked_keyboard(markup: dict[str, Any] | None) -> dict[str, Any] | None:
    """The markup as the message will carry it; an empty inline keyboard is none. Raises `Refused`."""
    if markup is None or "inline_keyboard" not in markup:
        return None
    rows = [row for row in markup["inline_keyboard"] if row]
    if sum(map(len, rows)) > _MOST_BUTTONS or any(len(row) > _MOST_IN_A_ROW for row in rows):
        raise broken_rule("reply markup is too long")
    for row in rows:
        for button in row:
            _check_button(button)
    return {"inline_keyboard": rows} if rows else None


def _check_button(button: dict[str, Any]) -> None:
    if not button["text"].strip():
        raise broken_rule("can't parse inline keyboard button: Text must be non-empty")
    if len(_ACTIONS & button.keys()) != 1:
        raise broken_rule("can't parse inline keyboard button: exactly one action is allowed")
    data = button.get("callback_data")
    if data is not None and not 1 <= len(data.encode()) <= _CALLBACK_DATA_BYTES:
        raise broken_rule("BUTTON_DATA_INVALID")
    if utf16_length(button.get("copy_text", {}).get("text", "")) > _COPY_TEXT_UNITS:
        raise broken_rule("BUTTON_COPY_TEXT_INVALID")
    if button.get("style", "primary") not in _STYLES:
        raise broken_rule("BUTTON_STYLE_INVALID")
