"""Gates: places where an answer waits until the test lets it go on."""

import asyncio
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Gate:
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)


class Gates:
    """The gates by name; a gate comes into being when first named."""

    def __init__(self) -> None:
        self._gates: dict[str, _Gate] = {}

    def _gate(self, name: str) -> _Gate:
        return self._gates.setdefault(name, _Gate())

    async def pass_through(self, name: str) -> None:
        gate = self._gate(name)
        gate.reached.set()
        await gate.released.wait()

    async def reached(self, name: str) -> None:
        await self._gate(name).reached.wait()

    def release(self, name: str) -> None:
        """Let all that wait there go; who comes to the same name afterwards waits anew."""
        self._gate(name).released.set()
        del self._gates[name]

    def release_all(self) -> None:
        for name in list(self._gates):
            self.release(name)
