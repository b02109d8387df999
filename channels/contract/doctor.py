"""What a channel finds out about itself for an operator, without listening."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Remark:
    """One line about the channel; `is_warning` when there is something to mend, and then it says how."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a channel's doctor must know of the house.

    `overhears`: the agent is told what was said in a group before it was called. `tasks`: what replicas that run now are at, by the
    names given to `ChannelHost.run_alone`.
    """

    overhears: bool = False
    tasks: Collection[str] = ()


@runtime_checkable
class SupportsDoctor(Protocol):
    """A channel that can try its credentials without being started."""

    async def doctor(self, around: Surroundings) -> Sequence[Remark]:
        """Ask the platform who the bot is and how it stands. Raises ChannelError when it cannot work at all."""
