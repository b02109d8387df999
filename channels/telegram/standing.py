"""How it stands with Telegram: what went wrong lately, how it is said, and how long to wait before the next try."""

import logging
import time
from collections.abc import Callable

from telegram.error import Conflict, InvalidToken, TelegramError

from channels.contract import ChannelHealth
from channels.telegram.request import Flooded, NotSent

_LOGGER = logging.getLogger(__name__)
_LONGEST_BACKOFF_SECONDS = 30.0
_SAID_AGAIN_SECONDS = 600.0  # what goes on for hours is not written every half minute
OTHER_POLLER = (
    "another program polls Telegram with the same bot token, so each gets only a part of the messages; "
    "stop it, or give one of them a bot of its own (@BotFather, /newbot); if nobody knows it, /revoke the token there"
)
FOREIGN_WEBHOOK = (
    "another program has set a webhook for this bot, which takes all its messages; "
    "stop that program and start this one again, which removes the webhook"
)


class Standing:
    """Counts failures in a row. A single one is no trouble yet, unless there was no connection so far."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._problem = "not connected yet"
        self._heard_at = clock()
        self._said_at: dict[str, float] = {}
        self.is_connected = False

    @property
    def silent_seconds(self) -> float:
        """For how long Telegram has not answered."""
        return self._clock() - self._heard_at

    def connected(self) -> None:
        """It is known who the bot is."""
        self.is_connected = True
        self.heard()

    def heard(self) -> None:
        """Telegram has answered."""
        self._heard_at = self._clock()
        self._problem = ""

    def well(self) -> None:
        """All that was to be done is done."""
        if self._failures > 1:
            _LOGGER.info("telegram: it works again")
        self._failures = 0

    def failed(self, error: Exception) -> float:
        """Note it, and say it unless it was said lately; gives the seconds to wait before the next try."""
        self._failures += 1
        self._problem = described(error)
        pause = min(2.0 ** min(self._failures - 2, 10), _LONGEST_BACKOFF_SECONDS)
        if isinstance(error, Flooded):
            pause = max(pause, error.seconds)
        if self._is_news(self._problem):
            _LOGGER.warning("telegram: %s; trying again in %.1f s", self._problem, pause)
        return pause

    def health(self) -> ChannelHealth:
        """What is wrong now, if anything."""
        if self._problem and (self._failures > 1 or not self.is_connected):
            return ChannelHealth(ok=False, detail=self._problem)
        return ChannelHealth(ok=True)

    def _is_news(self, problem: str) -> bool:
        said_at, now = self._said_at.get(problem), self._clock()
        if said_at is not None and now - said_at < _SAID_AGAIN_SECONDS:
            return False
        self._said_at = {text: at for text, at in self._said_at.items() if now - at < _SAID_AGAIN_SECONDS}
        self._said_at[problem] = now
        return True


def described(error: Exception) -> str:
    """The error in words that say what to do."""
    match error:
        case Conflict():
            return FOREIGN_WEBHOOK if "webhook" in error.message.lower() else OTHER_POLLER
        case InvalidToken():
            return "Telegram refuses channels.telegram.bot_token"
        case NotSent():
            return f"Telegram can't be reached ({error.message}); look at the network, HTTPS_PROXY and base_url"
        case TelegramError():
            return f"Telegram can't be reached ({error.message})"
        case TimeoutError():
            return "Telegram does not answer"
        case _:
            return f"an update could not be stored ({type(error).__name__})"
