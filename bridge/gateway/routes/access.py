"""The small page where a browser gives the access token once and gets a cookie for it."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from http import HTTPStatus

from aiohttp import web

from bridge.gateway.access import AccessToken
from bridge.gateway.middlewares.access import SIGN_IN_PATH

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { min-height: 100vh; margin: 0; display: grid; place-items: center; background: Canvas; color: CanvasText }
form { width: min(22rem, 90vw); display: grid; gap: .75rem }
h1 { font-size: 1.25rem; margin: 0 }
input, button { font: inherit; padding: .6rem .75rem; border-radius: .5rem; border: 1px solid GrayText }
button { background: #1f5eff; color: #fff; border: 0; cursor: pointer }
p { margin: 0 } .wrong { color: #c62828 }
"""

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Threadbridge</title>
<style>{style}</style>
<form method="post" action="{action}">
  <h1>Threadbridge</h1>
  <label for="token">Access token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
  <input type="hidden" name="next" value="{next}">
  {message}
  <button>Open</button>
</form>
</html>
"""

_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_WRONG = '<p class="wrong" role="alert">That is not the token.</p>'


class AccessRoutes:
    """`GET /access` shows the form, `POST /access` takes it."""

    def __init__(self, token: AccessToken) -> None:
        self._token = token

    def routes(self) -> Sequence[web.RouteDef]:
        """Both, for the application's router."""
        return [web.get(SIGN_IN_PATH, self._form), web.post(SIGN_IN_PATH, self._submit)]

    async def _form(self, request: web.Request) -> web.Response:
        return _page(_inside(request.query.get("next", "")))

    async def _submit(self, request: web.Request) -> web.Response:
        if request.content_type != "application/x-www-form-urlencoded":
            raise web.HTTPUnsupportedMediaType
        try:
            fields = await request.post()
        except (ValueError, LookupError) as error:  # bytes or a charset that are none
            raise web.HTTPBadRequest from error
        target = _inside(str(fields.get("next", "")))
        if not self._token.matches(str(fields.get("token", ""))):
            return _page(target, message=_WRONG, status=HTTPStatus.FORBIDDEN)
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": target})
        self._token.sign_in(request, response)
        return response


def _inside(target: str) -> str:
    """A path of this server, or `/`: a link to the sign-in page must not lead on to another site."""
    is_path = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_path else "/"


def _page(target: str, *, message: str = "", status: int = HTTPStatus.OK) -> web.Response:
    text = _PAGE.format(style=_STYLE, action=SIGN_IN_PATH, next=escape(target), message=message)
    return web.Response(
        text=text, status=status, content_type="text/html", headers={"Content-Security-Policy": _POLICY}
    )
