"""Any chat model class with its text joined before callbacks and graph see it, one object for many tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing
from functools import cache
from itertools import groupby
from typing import Any, Final, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field

from agent.models.batches import batched

_WINDOW: Final = "coalesce_seconds"


@cache
def coalescing(model_class: type[BaseChatModel]) -> type[BaseChatModel]:
    """Give the class with one more key, `coalesce_seconds` (0.1; 0 passes every chunk on as it comes).

    A class that has that key already, or does not stream, is given back as it is.
    """
    if _WINDOW in model_class.model_fields or not _streams(model_class):
        return model_class
    namespace = {
        "__module__": model_class.__module__,
        "__qualname__": model_class.__qualname__,
        "__doc__": model_class.__doc__,
        "__annotations__": {_WINDOW: float},
        _WINDOW: Field(default=0.1, ge=0),
    }
    return cast("type[BaseChatModel]", type(model_class.__name__, (_JoinedStream, model_class), namespace))


def _streams(model_class: type[BaseChatModel]) -> bool:
    return any(getattr(model_class, name) is not getattr(BaseChatModel, name) for name in ("_astream", "_stream"))


class _JoinedStream:
    """Reads the stream of the class it stands before, without its callbacks, and makes them for what it joined."""

    coalesce_seconds: float

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        theirs: AsyncGenerator[ChatGenerationChunk, None] = super()._astream(messages, stop, **kwargs)  # type: ignore[misc]
        if not self.coalesce_seconds:
            async with aclosing(theirs):
                async for chunk in theirs:
                    await _tell(run_manager, chunk)
                    yield chunk
            return
        async with aclosing(batched(theirs, self.coalesce_seconds)) as batches:
            async for batch in batches:
                for chunk in joined(batch):
                    await _tell(run_manager, chunk)
                    yield chunk


async def _tell(run_manager: AsyncCallbackManagerForLLMRun | None, chunk: ChatGenerationChunk) -> None:
    if run_manager is not None:
        logprobs = (chunk.generation_info or {}).get("logprobs")
        await run_manager.on_llm_new_token(chunk.text, chunk=chunk, logprobs=logprobs)


def joined(chunks: Iterable[ChatGenerationChunk]) -> Iterator[ChatGenerationChunk]:
    """Join neighbours that say nothing but text; everything else passes as it is, in its place."""
    for identity, neighbours in groupby(chunks, key=_text_identity):
        if identity is None:
            yield from neighbours
        else:
            yield _one(list(neighbours))


def _one(chunks: list[ChatGenerationChunk]) -> ChatGenerationChunk:
    if len(chunks) == 1:
        return chunks[0]
    text = "".join(cast("str", chunk.message.content) for chunk in chunks)
    message = chunks[0].message.model_copy(update={"content": text})
    return ChatGenerationChunk(message=message, generation_info=chunks[0].generation_info)


def _text_identity(chunk: ChatGenerationChunk) -> tuple[str | None, dict[str, Any]] | None:
    """Say whose text it is, for a chunk that says nothing else; None for any other."""
    message = chunk.message
    if type(message) is not AIMessageChunk or not isinstance(message.content, str) or chunk.generation_info:
        return None
    if message.tool_call_chunks or message.usage_metadata or message.additional_kwargs or message.chunk_position:
        return None
    return message.id, message.response_metadata
