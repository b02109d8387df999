"""Albums in groups: only one item carries the caption, and with it the mention, but all of them are meant."""

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from channels.contract import Addressed, InboundEvent, MessageReceived

_Value = TypeVar("_Value")
_MOST_ALBUMS = 1_000
_MOST_ITEMS = 10  # Bot API: an album has no more


class Albums:
    """How the latest albums were addressed, and what came of them before that was known."""

    def __init__(self) -> None:
        self._addressed: OrderedDict[tuple[str, str], Addressed] = OrderedDict()
        self._waiting: OrderedDict[tuple[str, str], deque[MessageReceived]] = OrderedDict()

    def meant(self, event: InboundEvent) -> Sequence[InboundEvent]:
        """The event, addressed as its album is; behind items that were taken for nothing to do with the bot, if it tells better."""
        if not isinstance(event, MessageReceived) or event.group is None:
            return (event,)
        key = (event.conversation.chat, event.group)
        addressed = self._addressed.get(key, event.addressed)
        if event.addressed is not Addressed.AMBIENT:
            addressed = _kept(self._addressed, key, event.addressed)
        if addressed is Addressed.AMBIENT:
            _kept(self._waiting, key, self._waiting.get(key, deque(maxlen=_MOST_ITEMS))).append(event)
            return (event,)
        earlier = self._waiting.pop(key, ())
        return [replace(item, addressed=addressed) for item in (*earlier, event)]


def _kept(table: OrderedDict[tuple[str, str], _Value], key: tuple[str, str], value: _Value) -> _Value:
    table[key] = value
    while len(table) > _MOST_ALBUMS:
        table.popitem(last=False)
    return value
