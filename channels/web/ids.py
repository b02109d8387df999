"""The page's ids: people, conversations, messages; how they are made and read back."""

import re
from uuid import uuid4

from channels.contract import ConversationKey

CHANNEL = "web"

_ID = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """A fresh id for a person or a conversation: 32 hexadecimal digits."""
    return uuid4().hex


def is_id(text: str) -> bool:
    """Whether the text has the form of one of our ids."""
    return _ID.fullmatch(text) is not None


def make_key(person: str, conversation: str) -> ConversationKey:
    """The key of a person's conversation. The person is the account, so that the owner can be read from the key alone."""
    return ConversationKey(CHANNEL, person, conversation)


def parse_key(key: ConversationKey) -> tuple[str, str]:
    """The (person, conversation) a key was made from; raises ValueError for a key of another channel or form."""
    if key.channel != CHANNEL or key.topic or not (is_id(key.account) and is_id(key.chat)):
        raise ValueError(f"not a conversation of the page: {key}")
    return key.account, key.chat
