"""What happens to the bot in groups: they move, and not everybody may put it into one."""

import logging

from channels.contract import ChannelError, ChannelHost, Sender
from channels.telegram.ids import Address
from channels.telegram.inbound import ChatMove, Joined
from channels.telegram.outbound import Outbound
from channels.telegram.styled_text import plain

_LOGGER = logging.getLogger(__name__)
_FAREWELL = (
    "I was brought here by somebody I do not know, so I am leaving. "
    "If I should stay, the operator of this bot can let that person in, or this group, and then add me again."
)


class Groups:
    """Tells the house of groups that move, and goes out of those into which a stranger has put the bot."""

    def __init__(self, outbound: Outbound, *, leaves: bool) -> None:
        self._outbound = outbound
        self._leaves = leaves

    async def moved(self, host: ChannelHost, move: ChatMove) -> None:
        """Return when the house knows. Raises what the house raises."""
        await host.chat_moved(move.old, move.new_chat)

    async def joined(self, host: ChannelHost, joined: Joined) -> None:
        """Stay if who did it may speak here, or the group itself; else say so once and leave. Raises what the house raises."""
        group = joined.group
        may_stay = await host.may_speak(group, joined.by) or await host.may_speak(group, Sender(group.chat))
        if may_stay or not self._leaves:
            _LOGGER.info("telegram: was added to the chat %s by %s", group.chat, joined.by.id)
            return
        _LOGGER.warning(
            "telegram: leaves the chat %s, to which %s has added it, who may not speak to the bot",
            group.chat,
            joined.by.id,
        )
        address = Address.of(group)
        try:
            await self._outbound.send(address, plain(_FAREWELL), (), None)
        except ChannelError as error:
            _LOGGER.info("telegram: no word of farewell in the chat %s: %s", group.chat, error)
        try:
            await self._outbound.leave(address)
        except ChannelError as error:
            _LOGGER.warning("telegram: could not leave the chat %s: %s", group.chat, error)
