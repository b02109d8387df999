"""The `<current_uploads>` block: which files came with a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from langchain_core.messages import HumanMessage

from agent.messages import FILES, ORIGINAL_CONTENT, escape_markup
from agent.paths import VIRTUAL_ROOT
from agent.state import UploadedFile

MOST_FILES_LISTED = 10
UPLOADS = VIRTUAL_ROOT / "uploads"


def files_on_disk(message: HumanMessage, uploads: Path) -> list[UploadedFile]:
    """Give the files a message names that lie in the uploads directory.

    A name that is more than a plain basename is ignored, and so is a link: neither came from an upload. Reads the
    disk: call it in a worker thread.
    """
    named = message.additional_kwargs.get(FILES)
    entries = named if isinstance(named, list) else []
    names = dict.fromkeys(str(entry.get("filename")) for entry in entries if isinstance(entry, dict))
    return [_described(uploads / name) for name in names if _is_upload(uploads, name)]


def announce(message: HumanMessage, files: Sequence[UploadedFile]) -> HumanMessage:
    """Put the block before the message's text; the text itself is kept as `original_user_content`."""
    if not files or ORIGINAL_CONTENT in message.additional_kwargs:
        return message
    return message.model_copy(
        update={
            "content": _prefixed(message.content, uploads_block(files)),
            "additional_kwargs": {**message.additional_kwargs, ORIGINAL_CONTENT: str(message.text)},
        }
    )


def uploads_block(files: Sequence[UploadedFile]) -> str:
    """List at most ten files by name, size and virtual path, and count the others by kind."""
    lines = [
        f"- {escape_markup(file['filename'])} ({readable_size(file['size'])}): {escape_markup(file['path'])}"
        for file in files[:MOST_FILES_LISTED]
    ]
    if rest := files[MOST_FILES_LISTED:]:
        kinds = Counter(PurePosixPath(file["filename"]).suffix or "without extension" for file in rest)
        counted = ", ".join(f"{count} {escape_markup(kind)}" for kind, count in kinds.most_common())
        lines.append(f"- and {len(rest)} more ({counted}): list {UPLOADS} to see them")
    return "\n".join(["<current_uploads>", *lines, "</current_uploads>"])


def readable_size(size_bytes: int) -> str:
    """Write a size as people do: 512 B, 1.5 KB, 3.0 MB."""
    size, units = float(size_bytes), ["B", "KB", "MB", "GB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size_bytes} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


def _is_upload(uploads: Path, name: str) -> bool:
    if name.startswith(".") or PurePosixPath(name).name != name:
        return False
    path = uploads / name
    return path.is_file() and not path.is_symlink()


def _described(path: Path) -> UploadedFile:
    return UploadedFile(filename=path.name, size=path.stat().st_size, path=str(UPLOADS / path.name))


def _prefixed(content: str | list[Any], block: str) -> str | list[Any]:
    if isinstance(content, str):
        return f"{block}\n\n{content}" if content else block
    return [{"type": "text", "text": block}, *content]
