"""Who may use the gateway: those who know the access token, or hold a cookie it signed."""

import hmac

from aiohttp import web
from itsdangerous import BadSignature, TimestampSigner
from pydantic import SecretStr

COOKIE = "threadbridge_access"
COOKIE_SECONDS = 30 * 24 * 3600


class AccessToken:
    """Compares in constant time; signs and reads the cookie that a browser holds instead of the token."""

    def __init__(self, token: SecretStr) -> None:
        self._token = token.get_secret_value().strip().encode()
        self._signer = TimestampSigner(self._token, salt="threadbridge.access")

    def matches(self, candidate: str) -> bool:
        """Whether it is the token."""
        return hmac.compare_digest(_bytes(candidate.strip()), self._token)

    def admits(self, request: web.Request) -> bool:
        """Whether the request carries the token (`Authorization: Bearer`, `X-Api-Key`) or a cookie made from it."""
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.matches(credentials):
            return True
        if self.matches(request.headers.get("X-Api-Key", "")):
            return True
        return self._signed(request.cookies.get(COOKIE, ""))

    def sign_in(self, request: web.Request, response: web.StreamResponse) -> None:
        """Give the browser its cookie: out of reach for scripts, and not sent along by other sites' requests."""
        is_https = "https" in {request.scheme, request.headers.get("X-Forwarded-Proto", "").lower()}
        response.set_cookie(
            COOKIE,
            self._signer.sign("browser").decode(),
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="Lax",
            secure=is_https,
        )

    def _signed(self, cookie: str) -> bool:
        try:
            self._signer.unsign(_bytes(cookie), max_age=COOKIE_SECONDS)
        except BadSignature:
            return False
        return True


def _bytes(header: str) -> bytes:
    """What the client sent: bytes that are no UTF-8 come as surrogates."""
    return header.encode(errors="surrogateescape")
