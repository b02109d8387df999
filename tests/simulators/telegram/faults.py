"""Faults a test orders: replies lost, errors, delays, floods, resets and holds, per method and count."""

from dataclasses import dataclass
from typing import Any, Literal

from ..gates import Gates
from .parameters import Call

FaultKind = Literal["lose_reply", "error", "delay", "flood", "reset", "hold"]
_NEVER_UNLESS_NAMED = {"getUpdates", "getMe", "deleteWebhook"}


@dataclass(slots=True)
class Fault:
    """One order. `when` says on which side of the call's effect a delay, reset or hold lies."""

    kind: FaultKind
    method: str = "*"
    count: int = 1
    skip: int = 0
    chat_id: int | None = None
    contains: str | None = None
    when: Literal["before", "after"] = "before"
    status: int = 502
    seconds: float = 0.0
    retry_after: int = 1
    gate: str = ""

    def matches(self, call: Call) -> bool:
        if self.method != call.method and (self.method != "*" or call.method in _NEVER_UNLESS_NAMED):
            return False
        if self.chat_id is not None and str(call.parameters.get("chat_id")) != str(self.chat_id):
            return False
        return self.contains is None or any(self.contains in str(value) for value in call.parameters.values())


class Faults:
    """The orders not yet carried out, and the gates."""

    def __init__(self) -> None:
        self._orders: list[Fault] = []
        self.gates = Gates()

    def order(self, **described: Any) -> None:
        self._orders.append(Fault(**described))

    def clear(self) -> None:
        """Forget all orders and let every held call go."""
        self._orders.clear()
        self.gates.release_all()

    def release(self, name: str) -> None:
        """Let every call at the gate go, and forget the holds there that no call has met."""
        self._orders = [fault for fault in self._orders if fault.kind != "hold" or fault.gate != name]
        self.gates.release(name)

    def take(self, call: Call) -> Fault | None:
        """The first order that this call meets, counted down."""
        for fault in self._orders:
            if not fault.matches(call):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.count -= 1
            if fault.count <= 0:
                self._orders.remove(fault)
            return fault
        return None
