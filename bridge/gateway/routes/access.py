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
:root {
  color-scheme: light dark;
  --paper: light-dark(#fcfbf9, #191817);
  --raised: light-dark(#ffffff, #232120);
  --line: light-dark(#e3dfd7, #36332f);
  --line-strong: light-dark(#cbc5ba, #4d4944);
  --ink: light-dark(#25221e, #ece8e1);
  --ink-soft: light-dark(#66605a, #a8a198);
  --accent: light-dark(#0f766e, #5fc9bb);
  --on-accent: light-dark(#ffffff, #0b2522);
  --danger: light-dark(#b3261e, #f2938c);
  --shadow: 0 1px 2px light-dark(rgb(40 30 20 / 6%), rgb(0 0 0 / 40%)),
    0 8px 28px light-dark(rgb(40 30 20 / 7%), rgb(0 0 0 / 35%));
  --sans: ui-sans-serif, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial,
    sans-serif;
}
*, *::before, *::after { box-sizing: border-box; }
body {
  display: grid; align-content: center; justify-items: center; gap: 1.5rem;
  min-height: 100dvh; margin: 0; padding: 1.5rem 1rem 12vh;
  background: var(--paper); color: var(--ink); font: 1rem/1.6 var(--sans); -webkit-font-smoothing: antialiased;
}
svg { display: block; }
header { display: grid; justify-items: center; gap: 0.35rem; text-align: center; }
h1 { margin: 0.75rem 0 0; font-size: 1.65rem; font-weight: 620; letter-spacing: -0.02em; line-height: 1.25; }
p { margin: 0; color: var(--ink-soft); text-wrap: balance; }
form {
  display: grid; gap: 0.5rem; width: min(23rem, 100%); padding: 1.35rem 1.4rem 1.4rem;
  border: 1px solid var(--line); border-radius: 1.1rem; background: var(--raised); box-shadow: var(--shadow);
}
label { font-weight: 600; font-size: 0.925rem; }
input, button { width: 100%; font: inherit; border-radius: 0.8rem; }
input { padding: 0.55rem 0.85rem; border: 1px solid var(--line-strong); background: var(--paper); color: inherit; }
input[aria-invalid] { border-color: var(--danger); }
button {
  margin-top: 0.6rem; padding: 0.6rem 1.1rem;
  border: 0; background: var(--accent); color: var(--on-accent); font-weight: 600; cursor: pointer;
}
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.wrong { color: var(--danger); font-size: 0.9rem; }
"""  # the page's own palette: its style sheet lies behind this door

_PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
  <meta name="color-scheme" content="light dark">
  <title>{title}</title>
  <style>{style}</style>
</head>
<body>
  <header>
    {mark}
    <h1>Threadbridge</h1>
    <p>Give the access token once; this browser is remembered.</p>
  </header>
  <form method="post" action="{action}">
    <input name="username" autocomplete="username" value="threadbridge" hidden>
    <label for="token">Access token</label>
    <input id="token" name="token" type="password" autocomplete="current-password" spellcheck="false" required
      autofocus{invalid}>
    <input type="hidden" name="next" value="{next}">
    {message}
    <button>Sign in</button>
  </form>
</body>
</html>
"""

_MARK = """<svg aria-hidden="true" width="44" height="44" viewBox="0 0 32 32">
      <rect width="32" height="32" rx="8" fill="#0f766e"/>
      <path d="M5 21h22M8 21c0-5 3.6-9 8-9s8 4 8 9M12.5 21v-7.6M19.5 21v-7.600M16 21v-9"
        fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"/>
    </svg>"""

_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_INVALID = ' aria-invalid="true" aria-describedby="wrong"'
_WRONG = '<p class="wrong" id="wrong" role="alert">That is not the access token. Check it and try again.</p>'


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
            return _page(target, is_wrong=True)
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": target})
        self._token.sign_in(request, response)
        return response


def _inside(target: str) -> str:
    """A path of this server, or `/`: a link to the sign-in page must not lead on to another site."""
    is_path = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_path else "/"


def _page(target: str, *, is_wrong: bool = False) -> web.Response:
    text = _PAGE.format(
        style=_STYLE,
        mark=_MARK,
        action=SIGN_IN_PATH,
        next=escape(target),
        title="Not signed in · Threadbridge" if is_wrong else "Sign in · Threadbridge",
        invalid=_INVALID if is_wrong else "",
        message=_WRONG if is_wrong else "",
    )
    return web.Response(
        text=text,
        status=HTTPStatus.FORBIDDEN if is_wrong else HTTPStatus.OK,
        content_type="text/html",
        headers={"Content-Security-Policy": _POLICY},
    )
