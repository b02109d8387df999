"""The built-in demo model: it needs no key, streams, calls tools and says what it is."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel, generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from agent.models.demo_rules import Step, next_step
from agent.models.demo_turn import Turn, read_turn


class DemoChatModel(BaseChatModel):
    """Answers by the rules of `demo_rules`; the same conversation always gets the same answer.

    A token is a word, for the pace as for the usage it reports.
    """

    word_delay_seconds: float = Field(default=0.03, ge=0)

    @property
    def _llm_type(self) -> str:
        return "demo"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Let the rules that need one of these tools apply."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(_chunks(messages, kwargs.get("tools", ())))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, **kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(messages, kwargs.get("tools", ())):
            await asyncio.sleep(self.word_delay_seconds)
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


def _chunks(messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> Iterator[ChatGenerationChunk]:
    turn = read_turn(messages, [tool["function"]["name"] for tool in tools])
    step = next_step(turn)
    for word in _words(step.text):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word))
    for call in _call_chunks(turn, step):
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))
    yield ChatGenerationChunk(
        message=AIMessageChunk(content="", usage_metadata=_usage(messages, step)),
        generation_info={"finish_reason": "tool_calls" if step.tool else "stop", "model_name": "demo"},
    )


def _call_chunks(turn: Turn, step: Step) -> Iterator[Any]:
    """Give the call in pieces, as providers do: the name first, then the arguments' text."""
    if step.tool is None:
        return
    call_id = hashlib.sha256(f"{turn.key}/{len(turn.results)}".encode()).hexdigest()[:12]
    yield tool_call_chunk(name=step.tool, args="", id=f"call_{call_id}", index=0)
    for word in _words(json.dumps(dict(step.arguments), ensure_ascii=False)):
        yield tool_call_chunk(args=word, index=0)


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


def _usage(messages: Sequence[BaseMessage], step: Step) -> UsageMetadata:
    read = sum(len(_words(str(message.text))) for message in messages)
    written = len(_words(step.text)) + len(_words(json.dumps(dict(step.arguments))))
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
