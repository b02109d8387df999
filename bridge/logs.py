"""Logging: one readable line per record on stderr, with every configured secret masked."""

import logging
from collections.abc import Iterable
from enum import StrEnum
from urllib.parse import quote

MASK = "[secret]"
_SHORTEST_SECRET = 4  # masking shorter ones would only garble the log
_OURS = ("agent", "bridge", "channels")


class LogLevel(StrEnum):
    """How much is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class RedactingFormatter(logging.Formatter):
    """Masks the secrets in the finished text, so that neither an argument nor a traceback can carry one out."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
        long_enough = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        written = long_enough | {quote(secret, safe="") for secret in long_enough}
        self._secrets = sorted(written, key=len, reverse=True)  # one may be a part of another

    def format(self, record: logging.LogRecord) -> str:
        """The record as text, masked."""
        text = super().format(record)
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text


def set_up_logging(level: LogLevel, secrets: Iterable[str]) -> None:
    """Send our records of `level` and above to stderr, and of libraries only warnings: they log every request and poll.

    Replaces the handlers that are there, so that none is left unmasked.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter(secrets))
    wanted = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(level=max(wanted, logging.WARNING), handlers=[handler], force=True)
    for name in _OURS:
        logging.getLogger(name).setLevel(wanted)
    logging.captureWarnings(True)  # noqa: FBT003  # the standard library's signature
