"""Words in which a choice is made."""

AS_CONFIGURED = "default"
_ON = frozenset({"on", "yes", "true", "1"})
_OFF = frozenset({"off", "no", "false", "0"})


def is_reset(word: str) -> bool:
    """Whether the choice is taken back."""
    return word == AS_CONFIGURED


def switch(word: str) -> bool | None:
    """On or off; None for a word that is neither."""
    return True if word in _ON else False if word in _OFF else None
