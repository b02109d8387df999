"""python-telegram-bot's request interface over aiohttp instead of httpx; only what the experiment needs."""

from typing import Any

import aiohttp
from telegram.error import NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData


class AiohttpRequest(BaseRequest):
    """Form-encoded and multipart calls over one aiohttp session; timeouts in seconds."""

    def __init__(self, *, read_timeout: float = 5.0) -> None:
        self._read_timeout = read_timeout
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float:
        return self._read_timeout

    async def initialize(self) -> None:
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256))

    async def shutdown(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        write_timeout: Any = BaseRequest.DEFAULT_NONE,
        connect_timeout: Any = BaseRequest.DEFAULT_NONE,
        pool_timeout: Any = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        assert self._session is not None
        seconds = self._read_timeout if read_timeout is BaseRequest.DEFAULT_NONE else read_timeout
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=seconds)
        try:
            async with self._session.request(method, url, data=_body(request_data), timeout=timeout) as reply:
                return reply.status, await reply.read()
        except TimeoutError as error:
            raise TimedOut from error
        except aiohttp.ClientError as error:
            raise NetworkError(type(error).__name__) from error


def _body(request_data: RequestData | None) -> Any:
    if request_data is None:
        return None
    if not request_data.contains_files:
        return request_data.json_parameters
    form = aiohttp.FormData(request_data.json_parameters)
    for name, (filename, content, mime_type) in (request_data.multipart_data or {}).items():
        form.add_field(name, content, filename=filename, content_type=mime_type)
    return form
