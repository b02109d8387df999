"""A chat model that says what a test lets it say, when the test lets it."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from agent.config import AgentConfig
from agent.middleware.config import TitleConfig
from agent.models import ModelConfig


@dataclass(frozen=True)
class Says:
    """One answer: its text word by word; then, when the gate (if any) is open, the tool it calls, an error, or its end."""

    text: str = ""
    tool: str = ""
    args: Any = None
    gate: asyncio.Event | None = None
    error: Exception | None = None
    tokens: tuple[int, int] | None = None
    """What it says that it took: in, out."""


class ScriptedModel(BaseChatModel):
    """Plays the steps of its script in turn, the last one for ever; every instance of the same script goes on where the others are."""

    scripts: ClassVar[dict[str, "Script"]] = {}
    script: str

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        step, number = self.scripts[self.script].next(messages)
        for word in step.text.split(" ") if step.text else ():
            yield await _told(AIMessageChunk(word if word == step.text.split(" ")[0] else f" {word}"), run_manager)
        if step.gate is not None:
            await step.gate.wait()
        if step.error is not None:
            raise step.error
        calls = [tool_call_chunk(name=step.tool, args=json.dumps(step.args or {}), id=f"call-{number}", index=0)]
        last = AIMessageChunk(
            "",
            tool_call_chunks=calls if step.tool else [],
            chunk_position="last",
            usage_metadata=_usage(step),
            response_metadata={"model_name": "scripted-1"},
        )
        yield await _told(last, run_manager)


class Script:
    """The steps, and what the model was asked at each."""

    def __init__(self, *steps: Says) -> None:
        self.steps = steps
        self.asked: list[list[BaseMessage]] = []
        self._news = asyncio.Condition()

    def next(self, messages: list[BaseMessage]) -> tuple[Says, int]:
        self.asked.append(list(messages))
        return self.steps[min(len(self.asked), len(self.steps)) - 1], len(self.asked)

    async def was_asked(self, times: int) -> None:
        """Wait until the model has been called so often."""
        async with asyncio.timeout(10):
            while len(self.asked) < times:  # noqa: ASYNC110  the model must not know who waits
                await asyncio.sleep(0.005)


def scripted(name: str, *steps: Says) -> tuple[AgentConfig, Script]:
    """A configuration whose only model plays these steps, and the script."""
    script = ScriptedModel.scripts[name] = Script(*steps)
    entry = ModelConfig(name=name, use="tests.bridge.scripted:ScriptedModel", script=name)
    return AgentConfig(models=[entry], title=TitleConfig(enabled=False)), script


def _usage(step: Says) -> UsageMetadata | None:
    if step.tokens is None:
        return None
    given, made = step.tokens
    return UsageMetadata(input_tokens=given, output_tokens=made, total_tokens=given + made)


async def _told(chunk: AIMessageChunk, run_manager: Any) -> ChatGenerationChunk:
    generation = ChatGenerationChunk(message=chunk)
    if run_manager is not None:
        await run_manager.on_llm_new_token(chunk.text, chunk=generation)
    return generation
