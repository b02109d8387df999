"""Whether the event loop has room for more work."""

import asyncio
import time

_BUSY_ROUND_SECONDS = 0.02
_PATIENCE_SECONDS = 1.0


async def room_in_the_loop(patience_seconds: float = _PATIENCE_SECONDS) -> bool:
    """Wait until a round of the loop is short again, so that a new message is seen and answered for at once; False if it is not in time.

    What makes the loop slow is measured, not how many run: thousands that wait for their models are no burden.
    """
    deadline = time.monotonic() + patience_seconds
    while (now := time.monotonic()) < deadline:
        await asyncio.sleep(0)
        one_round = time.monotonic() - now
        if one_round <= _BUSY_ROUND_SECONDS:
            return True
        await asyncio.sleep(one_round)
    return False
