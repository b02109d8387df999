"""The HTTP server: LangGraph's API for programs, and the routes channels bring along."""

import errno
import logging
from collections.abc import Sequence

from aiohttp import web
from aiohttp.typedefs import Middleware

from bridge.errors import CannotListen
from bridge.gateway.abandoned import AbandonedRuns
from bridge.gateway.access import AccessToken
from bridge.gateway.bodies import Bodies
from bridge.gateway.config import GatewayConfig
from bridge.gateway.live import LiveResponses
from bridge.gateway.middlewares.access import only_with
from bridge.gateway.middlewares.errors import errors_as_json
from bridge.gateway.middlewares.headers import add_security_headers
from bridge.gateway.middlewares.hosts import only_hosts_of
from bridge.gateway.middlewares.origins import same_origin
from bridge.gateway.routes.access import AccessRoutes
from bridge.gateway.routes.health import HealthOfChannels, HealthRoutes
from bridge.gateway.routes.runs import RunRoutes
from bridge.gateway.routes.threads import ThreadRoutes
from bridge.gateway.webhooks import Webhooks
from bridge.runs.manager import RunManager
from bridge.threads import ThreadService

API_PREFIXES = ("/api", "/api/langgraph")
_SHUTDOWN_SECONDS = 2.0  # for requests in progress; the open streams have been told already

_log = logging.getLogger(__name__)


class Gateway:
    """Serves the API and the channels' own routes on one port, from `start` to `stop`."""

    def __init__(
        self,
        manager: RunManager,
        threads: ThreadService,
        *,
        settings: GatewayConfig,
        health: HealthOfChannels,
        channel_routes: Sequence[web.AbstractRouteDef] = (),
        webhook_routes: Sequence[web.AbstractRouteDef] = (),
    ) -> None:
        self._settings = settings
        self._live = LiveResponses(
            keepalive_seconds=settings.keepalive_seconds, stalled_client_seconds=settings.stalled_client_seconds
        )
        self._abandoned = AbandonedRuns(manager.cancel, grace_seconds=settings.disconnect_grace_seconds)
        self._token = AccessToken(settings.access_token) if settings.access_token else None
        self._webhooks = Webhooks()
        app = self._application()
        app.add_routes(self._api_routes(manager, threads, HealthRoutes(health)))
        app.add_routes(channel_routes)
        self._webhooks.add_to(app, webhook_routes)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)

    @property
    def port(self) -> int:
        """The port it listens on; the one the system gave for a configured 0."""
        port: int = self._runner.addresses[0][1]
        return port

    @property
    def url(self) -> str:
        """Where it is reached, without a slash at the end."""
        host = self._settings.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    async def start(self) -> None:
        """Bind and listen. Raises CannotListen."""
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._settings.host, self._settings.port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise CannotListen(_advice(self._settings, error)) from error
        _log.info("the gateway listens on %s", self.url)

    async def stop(self) -> None:
        """Take nothing new, end the open streams after what they have, and let short requests finish."""
        self._live.stop()
        await self._runner.cleanup()
        await self._abandoned.close()

    def _application(self) -> web.Application:
        app = web.Application(middlewares=self._middlewares(), client_max_size=self._settings.body_limit_bytes)
        app.on_response_prepare.append(add_security_headers)
        return app

    def _middlewares(self) -> list[Middleware]:
        """Outermost first. With a token any host name will do: a rebound page does not know the token."""
        if self._token is None:
            return [errors_as_json, only_hosts_of(self._settings.host, self._webhooks), same_origin]
        return [errors_as_json, same_origin, only_with(self._token, self._webhooks)]

    def _api_routes(self, manager: RunManager, threads: ThreadService, health: HealthRoutes) -> list[web.RouteDef]:
        bodies = Bodies(self._settings.stalled_client_seconds)
        runs = RunRoutes(manager, threads, bodies=bodies, live=self._live, abandoned=self._abandoned)
        routes = [*health.routes(), *(AccessRoutes(self._token).routes() if self._token else ())]
        for prefix in API_PREFIXES:
            routes += [*health.api_routes(prefix), *ThreadRoutes(threads, bodies).routes(prefix), *runs.routes(prefix)]
        return routes


def _advice(settings: GatewayConfig, error: OSError) -> str:
    place = f"{settings.host}:{settings.port}"
    if error.errno == errno.EADDRINUSE:
        return f"gateway.port: {place} is taken by another program (or another bridge). Stop that, or choose another gateway.port"
    if error.errno == errno.EACCES:
        return f"gateway.port: this user may not listen on {place}. Choose a gateway.port above 1023"
    return (
        f"gateway.host: {settings.host!r} is no address of this machine ({error.strerror}). "
        "Use 127.0.0.1 for this machine alone, or 0.0.0.0 for all its addresses"
    )
