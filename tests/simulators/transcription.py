"""A service with OpenAI's `/audio/transcriptions`, strict about what it is sent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

API_KEY = "sk-ears"


@dataclass
class TranscriptionService:
    """Hears what the bytes of a recording say; answers with `statuses` first, one a request."""

    base_url: str = ""
    requests: list[dict[str, str]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    async def transcribe(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {API_KEY}":
            return _error(401, "Incorrect API key provided.")
        form = await request.post()
        recording = form.get("file")
        if not isinstance(recording, web.FileField) or not form.get("model"):
            return _error(400, "file and model are required")
        fields = {name: str(value) for name, value in form.items() if name != "file"}
        self.requests.append({**fields, "name": recording.filename, "type": recording.content_type})
        if self.statuses:
            return _error(self.statuses.pop(0), "as ordered")
        return web.json_response({"text": f" {recording.file.read().decode()} "})


@asynccontextmanager
async def transcription_service() -> AsyncIterator[TranscriptionService]:
    service = TranscriptionService()
    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", service.transcribe)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    service.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield service
    finally:
        await runner.cleanup()


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=status)
