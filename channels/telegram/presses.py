"""Presses on buttons that still wait for a word; Telegram shows a spinner until it comes."""

import logging
from collections import OrderedDict

from channels.contract import ChannelError, Outcome, PressVerdict
from channels.telegram.outbound import Outbound

_LOGGER = logging.getLogger(__name__)
_MOST_OPEN = 1_000


class Presses:
    """Which query belongs to which press, as long as it is unanswered."""

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._open: OrderedDict[str, str] = OrderedDict()

    def remember(self, dedupe_key: str, query_id: str) -> None:
        """A press came in."""
        self._open[dedupe_key] = query_id
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)

    async def answer(self, dedupe_key: str, verdict: PressVerdict) -> None:
        """Show the verdict to the person, once. Raises ChannelError."""
        query_id = self._open.pop(dedupe_key, None)
        if query_id is not None:
            await self._outbound.answer_press(query_id, verdict.text, alert=not verdict.accepted)

    async def answer_unknown(self, dedupe_key: str) -> None:
        """For a button that is none of ours, or of a time long past."""
        await self._try(dedupe_key, PressVerdict(accepted=False, text="This button does nothing any more."))

    async def answer_ignored(self, dedupe_key: str, outcome: Outcome) -> None:
        """For a press the house did not take and said nothing about."""
        if outcome is Outcome.REFUSED:
            await self._try(dedupe_key, PressVerdict(accepted=False, text="This bot does not take this from you."))
        elif outcome is Outcome.DUPLICATE:
            await self._try(dedupe_key, PressVerdict(accepted=True, text=""))

    async def _try(self, dedupe_key: str, verdict: PressVerdict) -> None:
        try:
            await self.answer(dedupe_key, verdict)
        except ChannelError as error:
            _LOGGER.info("telegram: a press could not be answered: %s", error)
