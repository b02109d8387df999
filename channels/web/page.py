"""The page itself: its HTML, style, modules and icon, read once and served from memory."""

import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from aiohttp import web

from channels.web.guard import COOKIE, COOKIE_SECONDS, SECURITY_HEADERS, Guard, Refusal, refusing
from channels.web.ids import new_id

_FOLDER = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page. `etag` names its content."""

    body: bytes
    content_type: str
    etag: str


def load_assets(folder: Path = _FOLDER) -> dict[str, Asset]:
    """The page's files by name (blocking). Only what lies in the folder itself is ever served."""
    return {path.name: _load(path) for path in folder.iterdir() if path.is_file()}


def _load(path: Path) -> Asset:
    body = path.read_bytes()
    content_type = mimetypes.types_map.get(path.suffix, "application/octet-stream")
    return Asset(body, content_type, sha256(body).hexdigest()[:32])


class Page:
    """`GET /` and what it loads. The first visit makes the person."""

    def __init__(self, guard: Guard, assets: dict[str, Asset]) -> None:
        self._guard = guard
        self._assets = assets

    def routes(self) -> Sequence[web.AbstractRouteDef]:
        """The page's routes."""
        return [
            web.get("/", refusing(self._index)),
            web.get("/web/static/{name}", refusing(self._static)),
        ]

    async def _index(self, request: web.Request) -> web.Response:
        known, seals = self._guard.person_of(request)
        response = _serve(request, self._assets["index.html"])
        response.set_cookie(
            COOKIE,
            seals.seal_person(known or new_id()),
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="Lax",
            secure=request.secure,
        )
        return response

    async def _static(self, request: web.Request) -> web.Response:
        asset = self._assets.get(request.match_info["name"])
        if asset is None:
            raise Refusal(404, "There is no such file.")
        return _serve(request, asset)


def _serve(request: web.Request, asset: Asset) -> web.Response:
    """The asset, or 304 when the browser has it. It always asks: a new version's modules must fit each other."""
    known = {tag.value for tag in request.if_none_match or ()}
    response = web.Response(headers={**SECURITY_HEADERS, "Cache-Control": "no-cache"})
    response.etag = asset.etag
    if known & {asset.etag, "*"}:
        response.set_status(304)
        return response
    response.body = asset.body
    response.content_type = asset.content_type
    if asset.content_type.startswith("text/"):
        response.charset = "utf-8"
    return response
