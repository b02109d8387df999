"""Starts the program; from the moment it is ready a detector makes every blocking call on its event loop raise."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from blockbuster import BlockBuster

from bridge import app, cli
from bridge.config import Config
from tests.e2e import breakpoints, haste

open_bridge = app.open_bridge


@asynccontextmanager
async def watched(config: Config) -> AsyncIterator[app.Bridge]:
    detector = BlockBuster()
    async with open_bridge(config) as bridge:
        detector.activate()
        try:
            yield bridge
        finally:
            detector.deactivate()


if __name__ == "__main__":
    sys.argv[0] = "threadbridge"
    if place := os.environ.get("KILL_AT"):
        breakpoints.arm(place)
    if factor := os.environ.get("HASTE"):
        haste.make(float(factor))
    app.open_bridge = watched
    cli.main()
