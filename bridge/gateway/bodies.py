"""Reads what a client sent and holds it against the model of the route."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from bridge.errors import InvalidRequest
from bridge.gateway.encoding import from_json

Model = TypeVar("Model", bound=BaseModel)


class Bodies:
    """Reads JSON bodies; a client that dawdles over one is answered 408. The size limit is the application's."""

    def __init__(self, stalled_client_seconds: float) -> None:
        self._stalled_client_seconds = stalled_client_seconds

    async def read(self, request: web.Request, model: type[Model]) -> Model:
        """The body as `model`; raises InvalidRequest for one that is not JSON or does not fit."""
        try:
            async with asyncio.timeout(self._stalled_client_seconds):
                body = await request.read()
        except TimeoutError as error:
            raise web.HTTPRequestTimeout from error
        return validated(model, from_json(body))


def read_query(request: web.Request, model: type[Model]) -> Model:
    """The query as `model`: a field given several times is a list; raises InvalidRequest."""
    query: Mapping[str, Any] = {name: request.query.getall(name) for name in request.query}
    return validated(model, {name: values if len(values) > 1 else values[0] for name, values in query.items()})


def validated(model: type[Model], data: Any) -> Model:
    """`data` as `model`; raises InvalidRequest with one sentence that names each wrong place, and never what stood there."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        raise InvalidRequest("; ".join(_sentence(one["loc"], one["msg"]) for one in found)) from error


def _sentence(location: tuple[int | str, ...], message: str) -> str:
    place = ".".join(str(step) for step in location)
    message = message.removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
