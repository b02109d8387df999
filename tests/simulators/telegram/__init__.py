"""A strict Telegram Bot API server and the tests' hand on it."""

from .client import ControlFailed, Person, TelegramSimulator
from .views import ChatView, DraftView, EditView, MessageView, Upload

__all__ = [
    "ChatView",
    "ControlFailed",
    "DraftView",
    "EditView",
    "MessageView",
    "Person",
    "TelegramSimulator",
    "Upload",
]
