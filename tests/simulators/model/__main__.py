"""`python -m tests.simulators.model`: an OpenAI-compatible model server on a port of its own."""

import argparse
import asyncio

from aiohttp import web

from ..clock import ScaledClock
from ..process import serve
from .control import ROUTES
from .provider import Provider
from .server import PROVIDER, completions, models

_LARGEST_BODY_BYTES = 256 * 1024 * 1024


def build(api_key: str, time_scale: float) -> web.Application:
    application = web.Application(client_max_size=_LARGEST_BODY_BYTES)
    application[PROVIDER] = Provider(api_key, ScaledClock(time_scale))
    application.router.add_post("/v1/chat/completions", completions)
    application.router.add_get("/v1/models", models)
    application.add_routes(ROUTES)
    return application


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted OpenAI-compatible model server for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-key", default="sk-test")
    parser.add_argument("--time-scale", type=float, default=1.0, help="how many times faster than real time passes")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input closes")
    arguments = parser.parse_args()
    application = build(arguments.api_key, arguments.time_scale)
    asyncio.run(serve(application, arguments.port, exit_with_parent=arguments.exit_with_parent))


if __name__ == "__main__":
    main()
