"""The routes that platforms call: they verify their requests themselves."""

from collections.abc import Sequence

from aiohttp import web


class Webhooks:
    """Knows which routes of an application ask for neither the access token nor the server's own name."""

    def __init__(self) -> None:
        self._routes: set[web.AbstractRoute] = set()

    def add_to(self, application: web.Application, routes: Sequence[web.AbstractRouteDef]) -> None:
        """Serve these routes (see `SupportsWebhooks`)."""
        self._routes.update(application.add_routes(routes))

    def take(self, request: web.Request) -> bool:
        """Whether the request goes to one of them, by its method too."""
        return request.match_info.route in self._routes
