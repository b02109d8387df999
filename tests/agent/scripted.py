"""A chat model that plays a script and keeps what it was asked."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from agent.config import AgentConfig
from agent.models import ModelConfig


@dataclass(frozen=True)
class Breaks:
    """Streams some text and then fails."""

    text: str
    error: Exception


@dataclass(frozen=True)
class Hangs:
    """Streams some text and then nothing more."""

    text: str


@dataclass(frozen=True)
class Varied:
    """Answers with this many characters of text that no compressor has seen before."""

    length: int

    def text(self) -> str:
        words = (base64.b32encode(os.urandom(5)).decode().lower()[: 3 + n % 5] for n in range(self.length // 4))
        return " ".join(words)[: self.length]


WAIT_SECONDS = 30
Step = AIMessage | Exception | Breaks | Hangs | Varied


def calls(*named: str, text: str = "", **args: Any) -> AIMessage:
    """An answer that calls these tools, each written `name` or `name:id`, with the same arguments."""
    asked = [(name, call_id or f"call-{name}") for name, _, call_id in (each.partition(":") for each in named)]
    return AIMessage(text, tool_calls=[{"name": name, "args": args, "id": call_id} for name, call_id in asked])


class ScriptedModel(BaseChatModel):
    """Plays `steps` in turn, the last one for ever; streams by the word."""

    scripts: ClassVar[dict[str, ScriptedModel]] = {}
    steps: Sequence[Any] = ()
    script: str = ""
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    tool_names: list[list[str]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def played(self) -> ScriptedModel:
        """The model whose script this is: a configuration knows its name only."""
        return self.scripts[self.script] if self.script else self

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        self.played.tool_names.append([tool.name for tool in tools])
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def was_asked(self, times: int) -> None:
        """Wait until the model has been called this often."""
        async with asyncio.timeout(WAIT_SECONDS):
            while len(self.asked) < times:  # noqa: ASYNC110  the model must not know who waits
                await asyncio.sleep(0.01)

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        played = self.played
        step = played.steps[min(len(played.asked), len(played.steps) - 1)]
        played.asked.append(list(messages))
        step = AIMessage(step.text()) if isinstance(step, Varied) else step
        if isinstance(step, Exception):
            raise step
        for chunk in _chunks(step):
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
        if isinstance(step, Breaks):
            raise step.error
        if isinstance(step, Hangs):
            await asyncio.Event().wait()

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        chunks = [chunk async for chunk in self._astream(messages, **kwargs)]
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole += chunk
        return ChatResult(generations=[whole])


def _chunks(step: AIMessage | Breaks | Hangs) -> list[ChatGenerationChunk]:
    text = step.text if not isinstance(step, AIMessage) else str(step.content)
    pieces = [AIMessageChunk(piece) for piece in text.split(" ")] if text else []
    pieces[1:] = [AIMessageChunk(f" {piece.content}") for piece in pieces[1:]]
    if isinstance(step, AIMessage):
        pieces.append(
            AIMessageChunk(
                "",
                tool_call_chunks=[
                    tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)
                    for index, call in enumerate(step.tool_calls)
                ],
                response_metadata=step.response_metadata,
                additional_kwargs=step.additional_kwargs,
                chunk_position="last",
            )
        )
    return [ChatGenerationChunk(message=piece) for piece in pieces]


def scripted_config(name: str, *steps: Step, **sections: Any) -> tuple[AgentConfig, ScriptedModel]:
    """A configuration whose only model plays these steps, and that model."""
    model = ScriptedModel(steps=steps)
    ScriptedModel.scripts[name] = model
    entry = ModelConfig(name=name, use="tests.agent.scripted:ScriptedModel", script=name)
    return AgentConfig(models=[entry], **sections), model


def texts(messages: Sequence[BaseMessage], kind: Callable[[BaseMessage], bool] = lambda m: True) -> list[str]:
    """The texts of the messages of a kind."""
    return [str(message.text) for message in messages if kind(message)]
