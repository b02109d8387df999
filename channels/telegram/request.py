"""The HTTP layer under python-telegram-bot: aiohttp instead of httpx, and no token in what is raised."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
from telegram._utils.defaultvalue import DefaultValue
from telegram._utils.types import JSONDict, ODVInput
from telegram.error import NetworkError, RetryAfter, TelegramError, TimedOut
from telegram.request import BaseRequest, RequestData

_CHUNK_BYTES = 256 * 1024
_MOST_ERROR_BYTES = 16 * 1024
_UPLOAD_WRITE_SECONDS = 120.0
_HEADERS = {"User-Agent": BaseRequest.USER_AGENT}
_JSON_HEADERS = {**_HEADERS, "Content-Type": "application/json"}
_DEFAULT: DefaultValue[None] = BaseRequest.DEFAULT_NONE


class NotSent(NetworkError):
    """No connection was made: nothing can have happened on the platform."""

    __slots__ = ()


class NotSentInTime(TimedOut, NotSent):
    """The connection did not come about in time: nothing can have happened on the platform."""

    __slots__ = ()


class ServerUnwell(NetworkError):
    """The Bot API server itself says that it failed (500, 503)."""

    __slots__ = ()


class NoSuchFile(TelegramError):
    """The server has no file at that place (any more)."""

    __slots__ = ()


class Flooded(RetryAfter):
    """A 429 with its seconds as a number."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        TelegramError.__init__(self, f"Flood control exceeded. Retry in {seconds} seconds")
        self.seconds = seconds
        self._retry_after = timedelta(seconds=seconds)


class AiohttpRequest(BaseRequest):
    """Sends what a `telegram.Bot` asks for, with the errors the library's own HTTPXRequest raises.

    What tells more is a subclass: `NotSent`, `ServerUnwell`, `Flooded`. Since the token is a part of every URL, errors
    are raised without the HTTP library's exception behind them.
    """

    def __init__(
        self,
        *,
        pool_size: int = 64,
        read_timeout_seconds: float = 10.0,
        connect_timeout_seconds: float = 5.0,
        proxy: str | None = None,
    ) -> None:
        self._pool_size = pool_size
        self._read_timeout = read_timeout_seconds
        self._connect_timeout = connect_timeout_seconds
        self._proxy = proxy
        self._open_session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float:
        """Seconds to wait for an answer unless a call says otherwise."""
        return self._read_timeout

    async def initialize(self) -> None:
        """Open the session; must run on the event loop that will use it."""
        if self._open_session is None:
            self._open_session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._pool_size),
                cookie_jar=aiohttp.DummyCookieJar(),
                proxy=self._proxy,
            )

    async def shutdown(self) -> None:
        """Close the session with its connections."""
        if self._open_session is not None:
            await self._open_session.close()
            self._open_session = None

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: ODVInput[float] = _DEFAULT,
        write_timeout: ODVInput[float] = _DEFAULT,
        connect_timeout: ODVInput[float] = _DEFAULT,
        pool_timeout: ODVInput[float] = _DEFAULT,
    ) -> tuple[int, bytes]:
        """Send one request; the status and the body of the answer. Raises TelegramError."""
        write_seconds = _UPLOAD_WRITE_SECONDS if request_data is not None and request_data.contains_files else None
        timeout = aiohttp.ClientTimeout(
            total=None,
            connect=_given(pool_timeout, None),
            sock_connect=_given(connect_timeout, self._connect_timeout),
            sock_read=_given(write_timeout, write_seconds) or _given(read_timeout, self._read_timeout),
        )
        try:
            async with self._session.request(
                method, url, allow_redirects=False, timeout=timeout, **_body(request_data)
            ) as response:
                status, payload = response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            failure = _failure(error)
        else:
            return _checked(status, payload)
        raise failure  # here, so that the HTTP library's error, which may show the URL, does not hang on it

    async def download(self, url: str) -> AsyncGenerator[bytes]:
        """The bytes behind a URL, in chunks. Raises TelegramError; NoSuchFile where the server has none."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout, sock_read=self._read_timeout)
        try:
            async with self._session.get(url, allow_redirects=False, timeout=timeout) as response:
                if response.status == HTTPStatus.OK:
                    async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                        yield chunk
                    return
                status, payload = response.status, await response.content.read(_MOST_ERROR_BYTES)
        except (aiohttp.ClientError, TimeoutError) as error:
            failure: TelegramError = _failure(error)
        else:
            _checked(status, payload)
            failure = NoSuchFile(f"the Bot API server answered {status}")
        raise failure

    @staticmethod
    def parse_json_payload(payload: bytes) -> JSONDict:
        """The JSON of an answer, and of a message we posted only what it takes to name it. Raises TelegramError."""
        try:
            answer: JSONDict = orjson.loads(payload)
        except ValueError:
            raise TelegramError("Invalid server response") from None
        posted = answer.get("result")
        if isinstance(posted, dict) and "message_id" in posted:  # the library spends a millisecond on the whole of it
            answer["result"] = {name: posted[name] for name in ("message_id", "date", "chat")}
        return answer

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self._open_session is None:
            raise NotSent("the HTTP session is closed")
        return self._open_session


def _failure(error: aiohttp.ClientError | TimeoutError) -> NetworkError:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return NotSentInTime()
        case aiohttp.ClientConnectorCertificateError():  # a ClientConnectorError without its `strerror`
            return NotSent(f"the certificate of {error.host}:{error.port} is not trusted")
        case aiohttp.ClientConnectorError():
            return NotSent(f"{error.host}:{error.port}: {error.strerror or type(error).__name__}")
        case TimeoutError():
            return TimedOut()
        case _:
            return NetworkError(f"aiohttp.{type(error).__name__}")


def proxy_from_environment(url: str) -> str | None:
    """The proxy that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` ask for (aiohttp would look again for each request)."""
    target = urlsplit(url)
    if target.hostname is None or proxy_bypass(target.hostname):
        return None
    return getproxies().get(target.scheme)


def _given(value: ODVInput[float], default: float | None) -> float | None:
    return default if isinstance(value, DefaultValue) else value


def _body(request_data: RequestData | None) -> dict[str, Any]:
    if request_data is None:
        return {"headers": _HEADERS}
    if not request_data.contains_files:
        return {"headers": _JSON_HEADERS, "data": orjson.dumps(request_data.parameters)}
    form = aiohttp.FormData(request_data.json_parameters, quote_fields=False)  # Telegram shows a quoted name as it is
    for name, (filename, content, mime_type) in request_data.multipart_data.items():
        form.add_field(name, content, filename=filename, content_type=mime_type)
    return {"headers": _HEADERS, "data": form}


def _checked(status: int, payload: bytes) -> tuple[int, bytes]:
    """The answer, unless a subclass of the library's error says more about it."""
    if status in {HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE}:
        raise ServerUnwell(f"{HTTPStatus(status).phrase} ({status})")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise Flooded(_retry_after(payload))
    return status, payload


def _retry_after(payload: bytes) -> float:
    try:
        return float(orjson.loads(payload)["parameters"]["retry_after"])
    except (ValueError, KeyError, TypeError):
        return 1.0
