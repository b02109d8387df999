"""Documents, photos and albums out; the files people sent in."""

import mimetypes
from collections.abc import Awaitable, Callable
from typing import Any

from ..api import Arguments, BotApi, find_chat, formatted_argument
from ..errors import bad_request, broken_rule
from ..media import check_upload, media_fields
from ..texts import CAPTION_LIMIT, formatted
from ..world import StoredFile
from .messages import new_message, show

_DOWNLOAD_BYTES = 20 * 1024 * 1024
_ALBUM_SIZES = range(2, 11)
_ONLY_AMONG_THEMSELVES = {"document", "audio"}


def _sending(kind: str) -> Callable[[BotApi, Arguments], Awaitable[dict[str, Any]]]:
    async def send(api: BotApi, arguments: Arguments) -> dict[str, Any]:
        chat = find_chat(api, arguments["chat_id"])
        caption = formatted_argument(arguments, "caption", limit=CAPTION_LIMIT, may_be_empty=True)
        file = _file(api, arguments, kind, arguments.get(kind, f"attach://{kind}"))
        message = new_message(api, arguments, chat, caption)
        message.file, message.media = file, media_fields(file)
        show(api, message)
        return message.api()

    return send


async def send_album(api: BotApi, arguments: Arguments) -> list[dict[str, Any]]:
    chat = find_chat(api, arguments["chat_id"])
    items = arguments["media"]
    kinds = {item["type"] for item in items}
    if len(items) not in _ALBUM_SIZES:
        raise broken_rule("wrong number of messages in an album: 2-10 items are allowed")
    if len(kinds) > 1 and kinds & _ONLY_AMONG_THEMSELVES:
        raise broken_rule("documents and audio can't be mixed with other media types")
    prepared = [(item, _file(api, arguments, item["type"], item["media"])) for item in items]
    album = api.world.next_album_id()
    messages = []
    for item, file in prepared:
        caption = formatted(
            item.get("caption", ""), item.get("parse_mode"), item.get("caption_entities"),
            limit=CAPTION_LIMIT, may_be_empty=True,
        )  # fmt: skip
        message = new_message(api, arguments, chat, caption)
        message.file, message.media, message.album = file, media_fields(file), album
        show(api, message)
        messages.append(message)
    return [message.api() for message in messages]


def _file(api: BotApi, arguments: Arguments, kind: str, reference: str) -> StoredFile:
    """The file meant by an upload's field name or by a file id."""
    if reference.startswith("attach://"):
        sent = arguments.files.get(reference.removeprefix("attach://"))
        if sent is None:
            raise broken_rule(f"there is no {kind} in the request")
        check_upload(kind, sent.content)
        guessed = mimetypes.guess_type(sent.name)[0] or sent.content_type
        return api.world.add_file(kind, sent.name, guessed, sent.content)
    if reference.startswith(("http://", "https://")):
        raise bad_request("failed to get HTTP URL content")
    known = api.world.files.get(reference)
    if known is None:
        raise bad_request("wrong file identifier/HTTP URL specified")
    return known


async def get_file(api: BotApi, arguments: Arguments) -> dict[str, Any]:
    file = api.world.files.get(arguments["file_id"].removesuffix("-s"))
    if file is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if file.size > _DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    return {"file_id": file.id, "file_unique_id": file.unique_id, "file_size": file.size, "file_path": file.path}


METHODS: dict[str, Callable[[BotApi, Arguments], Awaitable[Any]]] = {
    "sendDocument": _sending("document"),
    "sendPhoto": _sending("photo"),
    "sendAudio": _sending("audio"),
    "sendVideo": _sending("video"),
    "sendVoice": _sending("voice"),
    "sendAnimation": _sending("animation"),
    "sendMediaGroup": send_album,
    "getFile": get_file,
}
