"""Files in and out of a conversation: uploads are streamed to the host, what the thread holds is handed out safely."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from urllib.parse import quote

from aiohttp import BodyPartReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_request import BaseRequest

from channels.web.guard import SECURITY_HEADERS, ConversationVisit, Guard, Refusal, answer

_CHUNK_BYTES = 64 * 1024
_CHUNK_SECONDS = 60
_SHOWN_IN_PLACE = {"image/png", "image/jpeg", "image/gif", "image/webp"}  # raster only: an SVG can carry script


class Files:
    """`POST …/uploads` (multipart, one part named `file`) and `GET …/files?path=`."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def routes(self) -> Sequence[web.AbstractRouteDef]:
        """The routes of files."""
        one = "/web/api/conversations/{conversation}"
        return [
            web.post(f"{one}/uploads", self._guard.conversation(self._upload)),
            web.get(f"{one}/files", self._guard.conversation(self._file)),
        ]

    async def _upload(self, visit: ConversationVisit) -> web.Response:
        part = await _file_part(visit.request)
        file = await visit.host.save_upload(visit.conversation, part.filename or "", _chunks(part))
        ticket = visit.seals.seal_file(visit.conversation, file)
        return answer({"ticket": ticket, "name": file.name, "size_bytes": file.size_bytes}, 201)

    async def _file(self, visit: ConversationVisit) -> web.StreamResponse:
        path = visit.request.query.get("path", "")
        if not path or "\0" in path:
            raise Refusal(400, "Which file? The query `path` is missing.")
        file = await visit.host.open_artifact(visit.conversation, path)
        shown = file.mime_type in _SHOWN_IN_PLACE and "download" not in visit.request.query
        headers = {
            **SECURITY_HEADERS,
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "Content-Type": file.mime_type if shown else "application/octet-stream",
            "Content-Disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{quote(file.name, safe='')}",
            "Cache-Control": "private, no-cache",
        }
        return _AsItIs(file.path, headers=headers)


class _AsItIs(web.FileResponse):
    """A file without aiohttp's search for `<name>.gz` beside it, which in a thread's folder is a file of its own."""

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter | None:
        headers = request.headers.copy()
        headers.popall(hdrs.ACCEPT_ENCODING, None)
        return await super().prepare(request.clone(headers=headers))


async def _file_part(request: web.Request) -> BodyPartReader:
    if request.content_type != "multipart/form-data":
        raise Refusal(415, "The body must be multipart/form-data.")
    try:
        part = await (await request.multipart()).next()
    except ValueError as error:
        raise Refusal(400, "The upload is malformed.") from error
    if not isinstance(part, BodyPartReader) or part.name != "file" or not part.filename:
        raise Refusal(400, "The upload must have one part named `file`, with a file name.")
    return part


async def _chunks(part: BodyPartReader) -> AsyncIterator[bytes]:
    """The part's bytes as they come; raises Refusal when the sender is silent for a minute or breaks off."""
    try:
        while True:
            async with asyncio.timeout(_CHUNK_SECONDS):
                chunk = await part.read_chunk(_CHUNK_BYTES)
            if not chunk:
                return
            yield chunk
    except TimeoutError as error:
        raise Refusal(408, "The upload stood still for too long.") from error
    except ValueError as error:
        raise Refusal(400, "The upload broke off.") from error
