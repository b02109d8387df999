"""What every channel's section of the configuration has in common."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict


class Access(StrEnum):
    """Who may speak to the bot. `allowed_users` always may, whatever the mode."""

    MEMBERS = "members"
    PAIRING = "pairing"
    LIST = "list"
    OPEN = "open"


class BusyPolicy(StrEnum):
    """What a message does that arrives while the agent works on an earlier one."""

    QUEUE = "queue"  # it waits and is answered next
    STEER = "steer"  # the running turn is told before its next step
    INTERRUPT = "interrupt"  # the running turn stops and this one begins
    COLLECT = "collect"  # all that wait become one turn


class Speaks(StrEnum):
    """When the bot answers in a group; in private chats it always does, and commands it always takes."""

    MENTION = "mention"  # when it is mentioned or replied to, and in topics it takes part in
    ALWAYS = "always"
    NEVER = "never"


def _as_id_strings(value: object) -> object:
    """People write ids as numbers, as strings, or a single one."""
    if value is None:
        return ()
    items = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return tuple(str(item).strip() for item in items)


UserIds = Annotated[tuple[str, ...], BeforeValidator(_as_id_strings)]


class ChannelSection(BaseModel):
    """Keys that mean the same on every channel."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = False
    access: Access = Access.MEMBERS
    allowed_users: UserIds = ()
    admins: UserIds = ()
    speaks: Speaks = Speaks.MENTION
    busy: BusyPolicy = BusyPolicy.QUEUE
    streaming: bool = True
    feedback: bool = True
