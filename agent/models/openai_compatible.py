"""ChatOpenAI with a stream of its own: an eighth of the CPU time per answer, the same messages."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, Final, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import openai
import orjson
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models.base import LanguageModelInput
from langchain_core.language_models.chat_models import agenerate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import _handle_openai_api_error, _handle_openai_bad_request
from pydantic import Field, PrivateAttr, model_validator

from agent.models.chat_stream import ChatRequest, stream_chunks
from agent.models.loop_session import LoopSession
from agent.models.tool_schemas import ToolSchemas

_CONNECT_SECONDS: Final = 10.0
_WHOLE_ANSWER_SECONDS: Final = 3600.0


class ChatOpenAICompatible(ChatOpenAI):
    """Takes the keys of `langchain_openai.ChatOpenAI` and gives the same messages, for any server that speaks its API.

    Payloads and chunks are converted by langchain-openai; only the reading in between is ours. What that does not
    cover goes the parent's way: the Responses API, `response_format`, response headers, `n` above 1, a key that is a
    function, an HTTP client of one's own. Call `aclose` when the model is no longer used.
    """

    max_retries: int | None = 0
    coalesce_seconds: float = Field(default=0.1, ge=0)
    """How long plain text is held back to be joined; 0 passes every chunk on."""

    _session: LoopSession = PrivateAttr(default_factory=LoopSession)
    _tool_schemas: ToolSchemas = PrivateAttr(default_factory=ToolSchemas)
    _headers: dict[str, str] = PrivateAttr(default_factory=dict)
    _url: str = PrivateAttr(default="")
    _proxy: str | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _prepare_requests(self) -> Self:
        client = self.root_async_client
        headers = (
            client.default_headers if callable(self.openai_api_key) else client.default_headers | client.auth_headers
        )
        self._headers = {name: value for name, value in headers.items() if isinstance(value, str)}
        self._url = f"{str(client.base_url).rstrip('/')}/chat/completions"
        self._proxy = self.openai_proxy or _proxy_of_environment(self._url)
        return self

    async def aclose(self) -> None:
        """Close the connections that the running event loop holds to the provider."""
        await self._session.aclose()

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """As the parent's; what `strict` and `response_format` make of a schema is not kept."""
        if kwargs.get("strict") is None and not kwargs.get("response_format"):
            tools = self._tool_schemas.of(tools)
        return super().bind_tools(tools, **kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        stream_usage: bool | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        if not self._reads_itself(kwargs):
            async for chunk in super()._astream(messages, stop, run_manager, stream_usage=stream_usage, **kwargs):
                yield chunk
            return
        payload = self._streaming_payload(messages, stop, stream_usage, kwargs)
        async with aclosing(self._generation_chunks(payload, self.coalesce_seconds)) as chunks:
            async for chunk in chunks:
                if run_manager is not None:
                    logprobs = (chunk.generation_info or {}).get("logprobs")
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk, logprobs=logprobs)
                yield chunk

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if not self._reads_itself(kwargs):
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        payload = self._streaming_payload(messages, stop, kwargs.pop("stream_usage", None), kwargs)
        async with aclosing(self._generation_chunks(payload, _WHOLE_ANSWER_SECONDS)) as chunks:
            return await agenerate_from_stream(chunks)

    def _reads_itself(self, kwargs: dict[str, Any]) -> bool:
        asked = {**self.model_kwargs, **kwargs}
        own_client = self.http_async_client is not None and not self.openai_proxy
        return not (
            "response_format" in asked
            or self._use_responses_api(asked)
            or self.include_response_headers
            or self._uses_gateway
            or own_client
            or callable(self.openai_api_key)
            or (asked.get("n") or self.n or 1) > 1
            or (self._proxy or "").startswith("socks")
        )

    def _streaming_payload(
        self, messages: list[BaseMessage], stop: list[str] | None, stream_usage: bool | None, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        options: dict[str, Any] = {"stream": True}
        if self._should_stream_usage(stream_usage, **kwargs):
            options["stream_options"] = {"include_usage": True}
        return self._get_request_payload(messages, stop=stop, **(kwargs | options))

    async def _generation_chunks(
        self, payload: dict[str, Any], window_seconds: float
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        session = await self._session.get()
        try:
            async with aclosing(
                stream_chunks(session, self._request(payload), window_seconds=window_seconds)
            ) as chunks:
                async for chunk in chunks:
                    converted = self._convert_chunk_to_generation_chunk(chunk, AIMessageChunk, {})
                    if converted is not None:
                        yield converted
        except openai.BadRequestError as error:
            _handle_openai_bad_request(error)
        except openai.APIError as error:
            _handle_openai_api_error(error)

    def _request(self, payload: dict[str, Any]) -> ChatRequest:
        """Take the openai client's options out of the payload; the rest is the body."""
        body = dict(payload)
        connect, read = _time_limits(body.pop("timeout", self.request_timeout))
        headers = self._headers | dict(body.pop("extra_headers", None) or {})
        query = dict(self.default_query or {}) | dict(body.pop("extra_query", None) or {})
        body |= body.pop("extra_body", None) or {}
        return ChatRequest(
            url=self._url,
            headers=headers,
            query={name: str(value) for name, value in query.items()},
            body=_encoded(body),
            model_name=self.model_name,
            proxy=self._proxy,
            connect_seconds=connect,
            read_seconds=read,
            chunk_seconds=self.stream_chunk_timeout or None,
            retries=self.max_retries or 0,
        )


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, default=str).encode()  # lone surrogates, and numbers orjson has no room for


def _time_limits(timeout: Any) -> tuple[float | None, float | None]:
    """Give the seconds to connect and to read; as httpx has it, one number means both and a tuple begins with them."""
    if timeout is None:
        return _CONNECT_SECONDS, None
    if isinstance(timeout, int | float):
        return timeout, timeout
    if isinstance(timeout, tuple):
        return timeout[0], timeout[1]
    return timeout.connect, timeout.read


def _proxy_of_environment(url: str) -> str | None:
    address = urlsplit(url)
    if proxy_bypass(address.netloc):
        return None
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"
