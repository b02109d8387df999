"""Fetches what people sent, up to the size that Telegram hands out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from telegram import Bot
from telegram.error import BadRequest

from channels.contract import ChannelUnavailable, FileRef, FileUnavailable, OutcomeUnknown
from channels.telegram.outbound import translated
from channels.telegram.request import AiohttpRequest

DOWNLOAD_LIMIT_BYTES = 20 * 1024 * 1024  # Bot API getFile
_TOO_LARGE = "it is larger than the 20 MB that Telegram hands to bots."
_NOT_THERE = "Telegram no longer has this file."


async def download(bot: Bot, request: AiohttpRequest, ref: FileRef, destination: Path) -> None:
    """Write the file to `destination`, which must not exist. Raises FileUnavailable, ChannelUnavailable, RateLimited, OSError."""
    if ref.size_bytes is not None and ref.size_bytes > DOWNLOAD_LIMIT_BYTES:
        raise FileUnavailable(f"{ref.name}: {ref.size_bytes} bytes", user_message=_TOO_LARGE)
    try:
        with translated():
            url = await _location(bot, ref)
            async with aclosing(request.download(url)) as chunks:
                await _write(chunks, ref, destination)
    except OutcomeUnknown as error:
        raise ChannelUnavailable(str(error)) from error


async def _location(bot: Bot, ref: FileRef) -> str:
    """The URL of the file; it holds the token and is never stored or shown."""
    try:
        file = await bot.get_file(ref.ref)
    except BadRequest as error:
        reason = _TOO_LARGE if "too big" in error.message.lower() else _NOT_THERE
        raise FileUnavailable(f"{ref.name}: {error.message}", user_message=reason) from error
    if not file.file_path:
        raise FileUnavailable(f"{ref.name}: no file_path", user_message=_NOT_THERE)
    return file.file_path


async def _write(chunks: AsyncIterator[bytes], ref: FileRef, destination: Path) -> None:
    handle = await asyncio.to_thread(destination.open, "xb")
    try:
        written = 0
        async for chunk in chunks:
            written += len(chunk)
            if written > DOWNLOAD_LIMIT_BYTES:
                raise FileUnavailable(f"{ref.name}: {written} bytes", user_message=_TOO_LARGE)
            await asyncio.to_thread(handle.write, chunk)
    except BaseException:
        await asyncio.to_thread(destination.unlink, missing_ok=True)
        raise
    finally:
        await asyncio.to_thread(handle.close)
