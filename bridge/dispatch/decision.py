"""What a decision leads to besides its rows: carried out after the commit; what is lost with a crash is found again in the rows."""

from dataclasses import dataclass, field

from bridge.runs.records import CancelAction
from channels.contract import Press, PressVerdict


@dataclass(slots=True)
class Effects:
    """Collected while a transaction decides."""

    runs_stored: bool = False
    deliveries_stored: bool = False
    to_stop: dict[str, CancelAction] = field(default_factory=dict)
    threads_changed: set[str] = field(default_factory=set)
    press: tuple[Press, PressVerdict] | None = None
    again: bool = False  # more may be decided in this conversation now
