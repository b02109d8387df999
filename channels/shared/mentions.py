"""Names in a text that a platform might take for a call: what the agent writes is to notify nobody."""

import re
from collections.abc import Iterator

_NAME = re.compile(r"(?<![\w@])@[A-Za-z0-9_]{2,32}(?!\w)")
_ADDRESS = re.compile(r"\S*://\S*|(?<!\S)[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}/\S*")


def names(text: str) -> Iterator[tuple[int, int]]:
    """Where `@name` stands, as (start, end): not in mail addresses nor in links, which each platform reads as a whole.

    A channel shows these places so that the person sees the same characters and copies the same text, yet nobody is called.
    """
    if "@" not in text:
        return
    addresses = [found.span() for found in _ADDRESS.finditer(text)]
    for found in _NAME.finditer(text):
        if not any(start <= found.start() < end for start, end in addresses):
            yield found.span()
