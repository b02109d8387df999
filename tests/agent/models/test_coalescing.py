"""Any model class with its text joined: the same message, fewer chunks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, AsyncCallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI

from agent.models import ChatOpenAICompatible, ModelConfig, build_model
from agent.models.coalescing import coalescing
from tests.agent.models.conftest import ModelServer

WORDS = [f"word{number} " for number in range(300)]


class Speaker(BaseChatModel):
    """Says `WORDS`, thinks in between, calls a tool, counts."""

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("not streamed"))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for word in WORDS:
            yield said(AIMessageChunk(word, response_metadata={"model_provider": "speaker"}))
        yield said(AIMessageChunk("", additional_kwargs={"reasoning_content": "hm"}))
        yield said(AIMessageChunk("so"))
        yield said(AIMessageChunk("", tool_call_chunks=[tool_call_chunk(name="ls", args="{}", id="c1", index=0)]))
        usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
        yield ChatGenerationChunk(
            message=AIMessageChunk("", usage_metadata=usage),  # type: ignore[arg-type]
            generation_info={"finish_reason": "tool_calls"},
        )


class Silent(BaseChatModel):
    """Does not stream."""

    @property
    def _llm_type(self) -> str:
        return "silent"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("whole"))])


class Tokens(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.told: list[str] = []

    async def on_llm_new_token(self, token: Any, **_: Any) -> None:
        self.told.append(str(token))


def said(message: AIMessageChunk) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=message)


async def chunks_of(model: BaseChatModel) -> list[AIMessageChunk]:
    return [chunk async for chunk in model.astream("go")]


def sum_of(chunks: list[AIMessageChunk]) -> dict[str, Any]:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    return whole.model_dump(exclude={"id"})


async def test_the_sum_of_the_chunks_is_the_same_and_they_are_few() -> None:
    theirs, ours = await chunks_of(Speaker()), await chunks_of(coalescing(Speaker)())
    assert sum_of(ours) == sum_of(theirs)
    assert len(theirs) > 300
    assert len(ours) < 12


async def test_callbacks_hear_of_the_joined_text_once() -> None:
    heard = Tokens()
    await coalescing(Speaker)().ainvoke("go", {"callbacks": [heard]}, stream=True)
    assert "".join(heard.told) == "".join(WORDS) + "so"
    assert len(heard.told) < 12


async def test_text_is_not_held_back_when_the_model_pauses() -> None:
    go_on = asyncio.Event()

    class Pausing(Speaker):
        async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:  # type: ignore[override]
            for word in ("a", "b"):
                yield said(AIMessageChunk(word))
            await go_on.wait()
            yield said(AIMessageChunk("c"))

    stream = coalescing(Pausing)().astream("go")
    seen = ""
    while seen != "ab":
        seen += str((await asyncio.wait_for(anext(stream), 5)).content)
    go_on.set()
    assert "".join([str(chunk.content) async for chunk in stream]) == "c"


async def test_zero_passes_every_chunk_on() -> None:
    assert len(await chunks_of(coalescing(Speaker)(coalesce_seconds=0))) == len(await chunks_of(Speaker()))  # type: ignore[call-arg]


@pytest.mark.parametrize("error", [ValueError("broken"), asyncio.CancelledError()])
async def test_an_error_comes_through_after_the_text_before_it(error: BaseException) -> None:
    class Breaking(Speaker):
        async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:  # type: ignore[override]
            yield said(AIMessageChunk("half"))
            raise error

    stream = coalescing(Breaking)().astream("go")
    assert (await anext(stream)).content == "half"
    with pytest.raises(type(error)):
        await anext(stream)


def test_what_does_not_stream_or_joins_itself_stays_as_it_is() -> None:
    assert coalescing(Silent) is Silent
    assert coalescing(ChatOpenAICompatible) is ChatOpenAICompatible


def test_the_class_still_goes_by_its_name() -> None:
    joined = coalescing(ChatOpenAI)
    assert issubclass(joined, ChatOpenAI)
    assert (joined.__name__, joined.__module__) == (ChatOpenAI.__name__, ChatOpenAI.__module__)
    assert coalescing(ChatOpenAI) is joined


async def test_langchains_own_class_is_built_with_it(server: ModelServer) -> None:
    server.will_stream(*({"choices": [{"index": 0, "delta": {"content": word}}]} for word in WORDS))
    entry = {"name": "main", "use": "langchain_openai:ChatOpenAI", "model": "m", "api_key": "k", "base_url": server.url}
    model = build_model(ModelConfig.model_validate({**entry, "coalesce_seconds": 0.2}))
    chunks = await chunks_of(model)
    assert "".join(str(chunk.content) for chunk in chunks) == "".join(WORDS)
    assert len(chunks) < 100
