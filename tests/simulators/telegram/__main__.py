"""`python -m tests.simulators.telegram`: a Telegram Bot API server on a port of its own."""

import argparse
import asyncio

from aiohttp import web

from ..clock import ScaledClock
from ..process import serve
from .api import BotApi
from .control import Control
from .faults import Faults
from .journal import Journal
from .limits import RateLimits
from .presses import Presses
from .server import API, add_routes
from .updates import UpdateQueue
from .world import User, World

_LARGEST_BODY_BYTES = 64 * 1024 * 1024


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A strict Telegram Bot API server for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default="4242:TEST")
    parser.add_argument("--time-scale", type=float, default=1.0, help="how many times faster than real time passes")
    parser.add_argument("--no-limits", action="store_true", help="no rate limits, for benches")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input closes")
    return parser.parse_args()


def build(token: str, time_scale: float, *, limited: bool) -> web.Application:
    clock = ScaledClock(time_scale)
    bot = User(int(token.partition(":")[0]), "Threadbridge", "threadbridge_bot", is_bot=True)
    application = web.Application(client_max_size=_LARGEST_BODY_BYTES)
    application[API] = BotApi(
        token,
        clock,
        World(bot),
        UpdateQueue(clock),
        RateLimits(clock, enforced=limited),
        Faults(),
        Journal(),
        Presses(),
    )
    add_routes(application)
    application.add_routes(Control(application).routes())
    return application


def main() -> None:
    arguments = _arguments()
    application = build(arguments.token, arguments.time_scale, limited=not arguments.no_limits)
    asyncio.run(serve(application, arguments.port, exit_with_parent=arguments.exit_with_parent))


if __name__ == "__main__":
    main()
