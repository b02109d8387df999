"""One update on its way into the house, whichever way it came."""

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from telegram import Bot, Update

from channels.contract import ChannelHost
from channels.telegram.albums import Albums
from channels.telegram.groups import Groups
from channels.telegram.inbound import ChatMove, Inbound, Joined
from channels.telegram.presses import Presses
from channels.telegram.reactions import Reacted, reacted

_LOGGER = logging.getLogger(__name__)

RawUpdate = dict[str, Any]
Take = Callable[[RawUpdate], Awaitable[None]]


class Receiving:
    """Gives the house what a person did. `begin` comes first; until then nothing can be taken."""

    def __init__(self, bot: Bot, presses: Presses, groups: Groups) -> None:
        self._bot = bot
        self._presses = presses
        self._groups = groups
        self._albums = Albums()
        self._ready: tuple[ChannelHost, Inbound] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether it is known for whom updates are read."""
        return self._ready is not None

    def begin(self, host: ChannelHost, inbound: Inbound) -> None:
        """From now on updates are read this way and go to this house."""
        self._ready = (host, inbound)

    async def take(self, raw: RawUpdate) -> None:
        """Return when it is safe; what can't be read is passed over, for asking again would not mend it. Raises what the house raises."""
        if self._ready is None:
            raise RuntimeError("the channel was not started")
        host, inbound = self._ready
        try:
            update = Update.de_json(raw, self._bot)
            found = (
                inbound.move(update)
                or inbound.joined(update)
                or reacted(update, inbound.bot.id)
                or inbound.event(update, datetime.now(UTC))
            )
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            _LOGGER.warning("telegram: update %s is not understood (%s)", raw.get("update_id"), type(error).__name__)
            return
        if update.callback_query is not None:
            self._presses.remember(str(update.update_id), update.callback_query.id)
        match found:
            case None:
                await self._presses.answer_unknown(str(update.update_id))
            case ChatMove():
                await self._groups.moved(host, found)
            case Joined():
                await self._groups.joined(host, found)
            case Reacted():
                answer = await host.answer_at(found.chat, found.message_id)
                if answer is not None:
                    await host.submit(found.feedback(answer))
            case _:
                *earlier, event = self._albums.meant(found)
                for item in earlier:
                    await host.submit(item)
                accepted = await host.submit(event)
                await self._presses.answer_ignored(event.dedupe_key, accepted.outcome)
