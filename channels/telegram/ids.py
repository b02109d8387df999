"""Telegram's ids ↔ ours: conversations, messages, drafts and what a button carries."""

import base64
import hashlib
import re
import uuid
from dataclasses import dataclass
from typing import Literal

from channels.contract import ConversationKey, PressAction

CHANNEL = "telegram"
MOST_CALLBACK_BYTES = 64  # Bot API: InlineKeyboardButton.callback_data
_ACTION_SIGNS = {
    PressAction.CHOOSE: "+",
    PressAction.UNCHOOSE: "-",
    PressAction.DONE: "d",
    PressAction.SKIP: "s",
    PressAction.BACK: "b",
}
_ACTIONS = {sign: action for action, sign in _ACTION_SIGNS.items()}
_CHOICE = re.compile(r"(?P<step>[0-9]{1,3})(?P<action>[-+dsb])(?P<option>[0-9]{0,4})")
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Address:
    """Where the Bot API sends to; `topic` only where the chat has topics (the General topic has no id)."""

    chat_id: int
    topic: int | None = None

    @classmethod
    def of(cls, conversation: ConversationKey) -> "Address":
        """The address of a conversation; raises ValueError for another channel's."""
        if conversation.channel != CHANNEL:
            raise ValueError(f"not a conversation on Telegram: {conversation}")
        return cls(int(conversation.chat), int(conversation.topic) if conversation.topic else None)

    def conversation(self, bot_id: int) -> ConversationKey:
        """The conversation held at this address with this bot."""
        topic = "" if self.topic is None else str(self.topic)
        return ConversationKey(CHANNEL, str(bot_id), str(self.chat_id), topic)


def bot_id_of(token: str) -> int:
    """The bot's user id, which every token begins with; raises ValueError for what is no token."""
    return int(token.partition(":")[0])


def draft_id(delivery_id: str) -> int:
    """The draft in which a delivery grows: the same after a restart, positive, never 0."""
    digest = hashlib.blake2b(delivery_id.encode(), digest_size=4).digest()
    return (int.from_bytes(digest) & 0x7FFFFFFF) or 1


@dataclass(frozen=True, slots=True)
class ChoicePress:
    """A press on the clarification with this token: what it does to the field at `step`, and with which option."""

    token: str
    option: int | None = None
    action: PressAction = PressAction.CHOOSE
    step: int = 0


@dataclass(frozen=True, slots=True)
class StopPress:
    """The press on the stop button drawn for a run; None for whatever runs."""

    run_id: str | None


@dataclass(frozen=True, slots=True)
class ThumbPress:
    """A thumb, up (1) or down (-1), under the answer of this run."""

    run_id: str
    rating: Literal[-1, 1]


@dataclass(frozen=True, slots=True)
class SendNowPress:
    """The press on *send now* under a turn that waits."""

    run_id: str


ButtonPress = ChoicePress | StopPress | SendNowPress | ThumbPress


def callback_data(press: ButtonPress) -> str:
    """What a button carries (at most 64 bytes, but for a thumb with a run id that is none of ours).

    A run id too long for it is left out of a stop, which then stops whatever runs.
    """
    if isinstance(press, ChoicePress):
        option = "" if press.option is None else press.option
        return f"c:{press.token}:{press.step}{_ACTION_SIGNS[press.action]}{option}"
    if isinstance(press, ThumbPress):
        return f"f:{'+' if press.rating > 0 else '-'}{_shortened(press.run_id)}"
    kind = "n" if isinstance(press, SendNowPress) else "s"
    data = f"{kind}:{_shortened(press.run_id or '')}"
    return data if len(data.encode()) <= MOST_CALLBACK_BYTES else f"{kind}:"


def parse_callback_data(data: str) -> ButtonPress | None:
    """Read back what `callback_data` wrote; None for anything else."""
    match data.split(":"):
        case ["c", token, rest] if _TOKEN.fullmatch(token) and (match := _CHOICE.fullmatch(rest)):
            option = int(match["option"]) if match["option"] else None
            return ChoicePress(token, option, _ACTIONS[match["action"]], int(match["step"]))
        case ["f", *run_id] if (sign := ":".join(run_id)[:1]) in {"+", "-"}:
            rated = _lengthened(":".join(run_id)[1:])
            return ThumbPress(rated, 1 if sign == "+" else -1) if rated else None
        case ["s", *run_id]:
            return StopPress(_lengthened(":".join(run_id)) or None)
        case ["n", *run_id]:
            return SendNowPress(_lengthened(":".join(run_id)))
        case _:
            return None


def _shortened(run_id: str) -> str:
    if not run_id:
        return ""
    try:
        parsed = uuid.UUID(run_id)
    except ValueError:
        return f"={run_id}"
    if str(parsed) != run_id:
        return f"={run_id}"
    return base64.urlsafe_b64encode(parsed.bytes).rstrip(b"=").decode()


def _lengthened(short: str) -> str:
    if not short or short.startswith("="):
        return short[1:]
    try:
        return str(uuid.UUID(bytes=base64.urlsafe_b64decode(f"{short}==")))
    except ValueError:
        return ""
