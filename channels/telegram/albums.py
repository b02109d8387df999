"""Albums in groups: only one item carries the caption, and with it the mention, but all of them are meant."""

from collections import OrderedDict
from dataclasses import replace

from channels.contract import Addressed, InboundEvent, MessageReceived

_MOST_ALBUMS = 1_000


class Albums:
    """How the latest albums were addressed."""

    def __init__(self) -> None:
        self._addressed: OrderedDict[tuple[str, str], Addressed] = OrderedDict()

    def completed(self, event: InboundEvent) -> InboundEvent:
        """The event; an item without a word of its own is addressed as the album was before."""
        if not isinstance(event, MessageReceived) or event.group is None:
            return event
        key = (event.conversation.chat, event.group)
        if event.addressed is not Addressed.AMBIENT:
            self._addressed[key] = event.addressed
            while len(self._addressed) > _MOST_ALBUMS:
                self._addressed.popitem(last=False)
        return replace(event, addressed=self._addressed.get(key, event.addressed))
