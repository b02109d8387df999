"""The media part of a message: a stored file in the words of the Bot API."""

import struct
from typing import Any

import filetype

from .errors import bad_request, broken_rule
from .world import StoredFile

_PHOTO_BYTES = 10 * 1024 * 1024
_FILE_BYTES = 50 * 1024 * 1024
_UNKNOWN_SIZE = (1280, 720)


def media_fields(file: StoredFile) -> dict[str, Any]:
    """The fields a message with this file has, such as `document` or `photo`."""
    described: dict[str, Any] = {"file_id": file.id, "file_unique_id": file.unique_id, "file_size": file.size}
    if file.kind == "photo":
        width, height = image_size(file.content)
        small = {**described, "file_id": f"{file.id}-s", "file_unique_id": f"{file.unique_id}s"}
        return {"photo": [{**small, "width": 90, "height": 51}, {**described, "width": width, "height": height}]}
    described["mime_type"] = file.mime_type
    if file.kind in {"voice", "audio", "video", "animation"}:
        described["duration"] = 1
    if file.kind in {"video", "animation"}:
        described |= {"width": _UNKNOWN_SIZE[0], "height": _UNKNOWN_SIZE[1]}
    if file.kind != "voice":
        described["file_name"] = file.name
    return {file.kind: described}


def check_upload(kind: str, content: bytes) -> None:
    """Raises `Refused` for an upload that the Bot API would not take."""
    if not content:
        raise broken_rule("file must be non-empty")
    if len(content) > _FILE_BYTES:
        raise broken_rule("file is too big")
    if kind == "photo":
        _check_photo(content)


def _check_photo(content: bytes) -> None:
    if len(content) > _PHOTO_BYTES:
        raise broken_rule("file is too big for a photo; the maximum size is 10485760 bytes")
    if not filetype.is_image(content):
        raise bad_request("IMAGE_PROCESS_FAILED")
    width, height = image_size(content)
    if width + height > 10_000 or max(width, height) > 20 * min(width, height):
        raise bad_request("PHOTO_INVALID_DIMENSIONS")


def image_size(content: bytes) -> tuple[int, int]:
    """Width and height in pixels of a PNG; a usual size for other formats."""
    if content.startswith(b"\x89PNG\r\n\x1a\n") and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        return width, height
    return _UNKNOWN_SIZE
