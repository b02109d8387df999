"""ChatOpenAICompatible against a scripted server, with langchain_openai's ChatOpenAI as the measure."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, StreamChunkTimeoutError
from pydantic import BaseModel

from agent.models import ChatOpenAICompatible
from agent.models.chat_stream import ChatRequest, _ChunkReader


def chunk(delta: dict[str, Any], finish: str | None = None, **extra: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [choice], **extra}


def text(*words: str) -> list[dict[str, Any]]:
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": word}) for word in words)]


def call(index: int, *, name: str | None = None, call_id: str | None = None, args: str = "") -> dict[str, Any]:
    function = {"arguments": args} if name is None else {"name": name, "arguments": args}
    made = {"index": index, "function": function}
    return chunk({"tool_calls": [made if call_id is None else {**made, "id": call_id, "type": "function"}]})


STOP = chunk({}, "stop", system_fingerprint="fp-7", service_tier="default")
CALLS = chunk({}, "tool_calls")
USAGE = {
    **chunk({}),
    "choices": [],
    "usage": {
        "prompt_tokens": 9,
        "completion_tokens": 4,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}


def likely(word: str) -> dict[str, Any]:
    token = {"token": word, "logprob": -0.5, "bytes": [97], "top_logprobs": []}
    choice = {"index": 0, "delta": {"content": word}, "logprobs": {"content": [token], "refusal": None}}
    return {**chunk({}), "choices": [choice]}


SAME_AS_CHAT_OPENAI: dict[str, list[Any]] = {
    "text": [*text("Hel", "lo", " ", "wörld 🌍"), STOP, USAGE],
    "text without usage": [*text("Hello"), STOP],
    "slow text": [*text("a"), 0.08, chunk({"content": "b"}), chunk({"content": "c"}), 0.08, STOP, USAGE],
    "finish reason beside the last text": [*text("Hel"), chunk({"content": "lo"}, "length"), USAGE],
    "usage beside the finish reason": [*text("Hello"), {**STOP, "usage": USAGE["usage"]}],
    "two calls in pieces": [
        *text("Let me look."),
        call(0, name="look", call_id="call-a", args=""),
        call(0, args='{"pla'),
        call(0, args='ce": "here"}'),
        call(1, name="look", call_id="call-b", args='{"place": "there"}'),
        CALLS,
        USAGE,
    ],
    "a call whose arguments are cut": [call(0, name="look", call_id="call-a", args='{"pla'), chunk({}, "length")],
    "text after a call": [call(0, name="look", call_id="call-a", args="{}"), *text("and ", "more"), CALLS],
    "reasoning of other providers": [
        chunk({"role": "assistant", "content": None, "reasoning_content": "hm"}),
        chunk({"content": "", "reasoning_content": "m"}),
        *text("Yes", "."),
        STOP,
        USAGE,
    ],
    "null fields beside the text": [
        chunk({"role": "assistant", "content": "a", "refusal": None, "tool_calls": None, "reasoning_content": None}),
        chunk({"content": "b", "refusal": None, "tool_calls": None}),
        STOP,
    ],
    "a first chunk without choices": [{**chunk({}), "choices": [], "prompt_filter_results": []}, *text("Hi"), STOP],
    "bytes cut anywhere": [
        b'data: {"choices":[{"index":0,"delta":{"content":"caf\xc3',
        0.02,
        b'\xa9"},"finish_reason":null}]}\r\n\r\n: comment\r\n\r\nda',
        0.02,
        b'ta:{"choices":[{"index":0,"delta":{"content":"!"},"finish_reason":"stop"}]}\n\n',
    ],
    "log probabilities": [*(likely(word) for word in ("a", "b")), STOP],
    "nothing but the finish reason": [STOP, USAGE],
}


@pytest.fixture
async def lean(server: Any) -> AsyncIterator[ChatOpenAICompatible]:
    model = ChatOpenAICompatible(model="m-1", api_key="key", base_url=server.url, stream_usage=True)
    yield model
    await model.aclose()


def variant(server: Any, **keys: Any) -> ChatOpenAICompatible:
    return ChatOpenAICompatible(**({"model": "m-1", "api_key": "key", "base_url": server.url} | keys))


async def whole(model: ChatOpenAI, **kwargs: Any) -> AIMessageChunk:
    chunks = [piece async for piece in model.astream("hi", **kwargs)]
    merged = chunks[0]
    for piece in chunks[1:]:
        merged = merged + piece
    return merged


def essence(message: BaseMessage) -> dict[str, Any]:
    assert isinstance(message, AIMessage)
    return message.model_dump(
        include={
            "content",
            "tool_calls",
            "invalid_tool_calls",
            "usage_metadata",
            "response_metadata",
            "additional_kwargs",
            "name",
        }
    )


@pytest.mark.parametrize("script", SAME_AS_CHAT_OPENAI)
async def test_message_equals_chat_openai(server: Any, lean: ChatOpenAICompatible, script: str) -> None:
    server.will_stream(*SAME_AS_CHAT_OPENAI[script])
    async with httpx.AsyncClient() as client:
        reference = ChatOpenAI(
            model="m-1", api_key="key", base_url=server.url, stream_usage=True, http_async_client=client
        )
        expected = await whole(reference)
    assert essence(await whole(lean)) == essence(expected)
    assert server.bodies[0] == server.bodies[1]


@pytest.mark.parametrize("script", ["text", "two calls in pieces", "finish reason beside the last text"])
async def test_invoke_gives_the_streamed_message(server: Any, lean: ChatOpenAICompatible, script: str) -> None:
    server.will_stream(*SAME_AS_CHAT_OPENAI[script])
    assert essence(await lean.ainvoke("hi")) == essence(await whole(lean))


async def test_a_burst_of_text_becomes_few_chunks(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(
        b"".join(b'data: {"choices":[{"index":0,"delta":{"content":"w "}}]}\n\n' for _ in range(200)), STOP
    )
    chunks = [piece.content async for piece in lean.astream("hi") if piece.content]
    assert "".join(chunks) == "w " * 200
    assert len(chunks) <= 3


async def test_calls_are_not_joined(server: Any, lean: ChatOpenAICompatible) -> None:
    script = SAME_AS_CHAT_OPENAI["two calls in pieces"]
    server.will_stream(b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in script))
    pieces = [piece async for piece in lean.astream("hi")]
    calls = [part["args"] for piece in pieces for part in piece.tool_call_chunks]
    assert calls == ["", '{"pla', 'ce": "here"}', '{"place": "there"}']
    assert pieces[0].content == "Let me look."


async def test_text_held_back_is_shown_while_the_server_is_silent(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(*text("a", "b", "c"), 1.0, STOP)
    began = time.monotonic()
    seen = ""
    async for piece in lean.astream("hi"):
        seen += str(piece.content)
        if seen == "abc":
            break
    assert time.monotonic() - began < 0.6


REFUSALS = [
    (400, openai.BadRequestError),
    (401, openai.AuthenticationError),
    (403, openai.PermissionDeniedError),
    (404, openai.NotFoundError),
    (409, openai.ConflictError),
    (422, openai.UnprocessableEntityError),
    (418, openai.APIStatusError),
    (500, openai.InternalServerError),
    (503, openai.InternalServerError),
]


@pytest.mark.parametrize(("status", "kind"), REFUSALS)
async def test_a_refusal_is_the_openai_packages_error(
    server: Any, lean: ChatOpenAICompatible, status: int, kind: type[openai.APIStatusError]
) -> None:
    server.will_refuse(status, {"error": {"message": "no, because", "code": "why", "type": "t"}})
    with pytest.raises(kind) as caught:
        await whole(lean)
    assert "no, because" in str(caught.value)
    assert (caught.value.status_code, caught.value.code) == (status, "why")


async def test_a_rate_limit_carries_retry_after(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_refuse(429, {"error": {"message": "slow down"}}, {"Retry-After": "7", "x-request-id": "r-1"})
    with pytest.raises(openai.RateLimitError) as caught:
        await lean.ainvoke("hi")
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.request_id == "r-1"
    assert len(server.requests) == 1


async def test_a_refusal_that_is_no_json_is_told_in_its_words(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_refuse(502, "<html>Bad gateway</html>")
    with pytest.raises(openai.InternalServerError, match="Bad gateway"):
        await whole(lean)


async def test_an_overlong_prompt_is_langchains_context_overflow(server: Any, lean: ChatOpenAICompatible) -> None:
    from langchain_core.exceptions import ContextOverflowError

    server.will_refuse(400, {"error": {"message": "prompt is too long", "code": "context_length_exceeded"}})
    with pytest.raises(ContextOverflowError):
        await whole(lean)


async def test_an_error_in_the_stream_is_raised(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(*text("Hel"), {"error": {"message": "overloaded", "code": "busy"}})
    seen: list[Any] = []

    async def read() -> None:
        async for piece in lean.astream("hi"):
            seen.append(piece.content)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(openai.APIError, match="overloaded") as caught:
        await read()
    assert caught.value.code == "busy"
    assert "".join(seen) == "Hel"


async def test_an_error_instead_of_a_stream_is_raised(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_answer_json({"error": {"message": "quota is used up"}})
    with pytest.raises(openai.APIError, match="quota is used up"):
        await whole(lean)


@pytest.mark.parametrize("end", ["open", "done", "abort"])
async def test_a_cut_answer_does_not_pass_as_whole(server: Any, lean: ChatOpenAICompatible, end: str) -> None:
    server.will_stream(*text("Hel", "lo"), end=end)
    with pytest.raises(openai.APIConnectionError):
        await whole(lean)
    with pytest.raises(openai.APIConnectionError):
        await lean.ainvoke("hi")


@pytest.mark.parametrize("end", ["open", "abort"])
async def test_an_answer_cut_behind_its_finish_reason_is_whole(
    server: Any, lean: ChatOpenAICompatible, end: str
) -> None:
    server.will_stream(*text("Hello"), STOP, 0.05, end=end)
    assert (await whole(lean)).content == "Hello"


async def test_malformed_json_is_a_connection_error(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(*text("Hel"), b'data: {"choices": [{"del\n\n', STOP)
    with pytest.raises(openai.APIConnectionError, match="malformed"):
        await whole(lean)


async def test_an_endless_event_is_a_connection_error(
    server: Any, lean: ChatOpenAICompatible, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.models.event_stream._LARGEST_EVENT_BYTES", 10_000)
    server.will_stream(b"data: " + b"x" * 20_000)
    with pytest.raises(openai.APIConnectionError, match="more than 10000 bytes"):
        await whole(lean)


async def test_nobody_listening_is_a_connection_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        model = ChatOpenAICompatible(model="m", api_key="k", base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        with pytest.raises(openai.APIConnectionError):
            await model.ainvoke("hi")
        await model.aclose()


async def test_silence_between_chunks_ends_the_call_though_comments_come(server: Any) -> None:
    server.will_stream(*text("Hel"), end="forever")
    model = variant(server, stream_chunk_timeout=0.2)
    with pytest.raises(StreamChunkTimeoutError) as caught:
        await whole(model)
    assert caught.value.chunks_received == 2
    await asyncio.wait_for(server.hung_up.wait(), 2)
    await model.aclose()


async def test_a_slow_reader_is_not_taken_for_a_silent_server(server: Any) -> None:
    server.will_stream(*text("a"), 0.9, chunk({"content": "b"}), STOP)
    model = variant(server, stream_chunk_timeout=0.5)
    seen = ""
    async for piece in model.astream("hi"):
        seen += str(piece.content)
        await asyncio.sleep(0.6 if piece.content else 0)
    assert seen == "ab"
    await model.aclose()


@pytest.mark.parametrize("limit", [{"stream_chunk_timeout": 0.2}, {"timeout": 0.2}, {"timeout": (5.0, 0.2)}])
async def test_no_answer_in_time_is_a_timeout(server: Any, limit: dict[str, Any]) -> None:
    server.scripts.append(lambda _: asyncio.sleep(1.0))
    model = variant(server, **limit)
    with pytest.raises(openai.APITimeoutError):
        await model.ainvoke("hi")
    await model.aclose()


async def test_cancelling_closes_the_connection(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(*text("Hel"), end="forever")
    first = asyncio.Event()

    async def read() -> None:
        async for _ in lean.astream("hi"):
            first.set()

    task = asyncio.create_task(read())
    await first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(server.hung_up.wait(), 2)


async def test_a_slow_answer_is_left_alone_now_and_then_and_comes_whole(
    server: Any, lean: ChatOpenAICompatible, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    leave_alone = _ChunkReader._leave_alone

    async def seen(reader: _ChunkReader, seconds: float) -> None:
        pauses.append(seconds)
        await leave_alone(reader, seconds)

    monkeypatch.setattr(_ChunkReader, "_leave_alone", seen)
    words = [f"w{number} " for number in range(30)]
    slowly = [piece for word in text(*words) for piece in (word, 0.01)]
    server.will_stream(*slowly, STOP)
    assert [(await whole(lean)).text for _ in range(2)] == ["".join(words)] * 2
    assert 0 < len(pauses) < len(words) * 2
    assert max(pauses) <= lean.coalesce_seconds / 2
    assert server.connections[0] == server.connections[1]  # it was read to its end, and nothing was left unread


async def test_an_answer_cut_while_it_is_left_alone_is_a_connection_error(
    server: Any, lean: ChatOpenAICompatible
) -> None:
    slowly = [piece for word in text(*"abcdef") for piece in (word, 0.01)]
    server.will_stream(*slowly, end="abort")
    with pytest.raises(openai.APIConnectionError):
        await whole(lean)


async def test_a_reader_who_stops_closes_the_connection(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(*text("Hel"), end="forever")
    stream = lean.astream("hi")
    await anext(stream)
    await stream.aclose()
    await asyncio.wait_for(server.hung_up.wait(), 2)


@tool
def look(place: str) -> str:
    """Look at a place."""
    return place


@pytest.mark.parametrize("options", [{}, {"strict": True}, {"tool_choice": "any"}, {"parallel_tool_calls": False}])
def test_tools_are_bound_as_chat_openai_binds_them(lean: ChatOpenAICompatible, options: dict[str, Any]) -> None:
    theirs = ChatOpenAI(model="m-1", api_key="key", base_url="http://127.0.0.1:1/v1").bind_tools([look], **options)
    for _ in range(2):
        assert lean.bind_tools([look], **options).kwargs == theirs.kwargs


def test_a_tool_that_says_something_else_of_itself_is_told_anew(lean: ChatOpenAICompatible) -> None:
    changing = look.model_copy()
    lean.bind_tools([changing])
    changing.description = "Look again."
    bound = lean.bind_tools([changing])
    assert bound.kwargs["tools"][0]["function"]["description"] == "Look again."


@pytest.mark.parametrize("pause", [0.0, 0.05])
async def test_the_connection_is_used_again(server: Any, lean: ChatOpenAICompatible, pause: float) -> None:
    server.will_stream(*text("Hello"), STOP, b"data: [DONE]\n\n", pause, end="open")
    await whole(lean)
    await lean.ainvoke("hi")
    assert server.connections[0] == server.connections[1]


async def test_retries_open_the_answer_again(server: Any) -> None:
    server.will_refuse(429, {"error": {"message": "wait"}}, {"Retry-After": "0"})
    server.will_refuse(503, {"error": {"message": "wait"}}, {"Retry-After": "0"})
    server.will_stream(*text("Hello"), STOP)
    model = variant(server, max_retries=2)
    assert (await model.ainvoke("hi")).content == "Hello"
    assert len(server.requests) == 3
    await model.aclose()


async def test_retries_end_with_the_last_error_and_spare_what_will_not_change(server: Any) -> None:
    model = variant(server, max_retries=1)
    server.will_refuse(503, {"error": {"message": "wait"}}, {"Retry-After": "0"})
    with pytest.raises(openai.InternalServerError):
        await model.ainvoke("hi")
    assert len(server.requests) == 2
    server.scripts.clear()
    server.will_refuse(401, {"error": {"message": "who?"}})
    with pytest.raises(openai.AuthenticationError):
        await model.ainvoke("hi")
    assert len(server.requests) == 3
    await model.aclose()


async def test_headers_query_and_extra_body_arrive(server: Any) -> None:
    server.will_stream(*text("Hello"), STOP)
    model = variant(
        server,
        organization="org-1",
        default_headers={"X-Ours": "yes"},
        default_query={"api-version": 3},
        extra_body={"ttl": 5},
        temperature=0.5,
        max_tokens=70,
    )
    await model.ainvoke("hi", extra_headers={"X-Once": "1"})
    request, body = server.requests[0], server.bodies[0]
    assert request.headers["Authorization"] == "Bearer key"
    assert request.headers["OpenAI-Organization"] == "org-1"
    assert (request.headers["X-Ours"], request.headers["X-Once"]) == ("yes", "1")
    assert request.query == {"api-version": "3"}
    assert (body["ttl"], body["temperature"], body["max_completion_tokens"], body["stream"]) == (5, 0.5, 70, True)
    await model.aclose()


def test_a_request_does_not_show_its_key() -> None:
    request = ChatRequest(url="u", headers={"Authorization": "Bearer sk-x"}, query={}, body=b"words", model_name="m")
    assert "sk-x" not in repr(request)
    assert "words" not in repr(request)


async def test_a_proxy_is_asked_instead(server: Any) -> None:
    server.will_stream(*text("Hello"), STOP)
    proxy = server.url.removesuffix("/v1")
    model = variant(server, base_url="http://models.invalid/v1", openai_proxy=proxy)
    assert (await model.ainvoke("hi")).content == "Hello"
    assert server.requests[0].headers["Host"] == "models.invalid"
    await model.aclose()


async def test_the_environments_proxy_is_asked_unless_the_host_is_exempt(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server.will_stream(*text("Hello"), STOP)
    near = variant(server)
    far = variant(server, base_url="http://models.invalid/v1")
    await near.ainvoke("hi")
    await far.ainvoke("hi")
    assert server.requests[0].headers["Host"].startswith("127.0.0.1:")
    assert server.requests[1].headers["Host"] == "models.invalid"
    await near.aclose()
    await far.aclose()


async def test_half_a_character_is_sent_as_an_escape(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(*text("Hello"), STOP)
    await lean.ainvoke("broken \ud83d")
    assert server.bodies[0]["messages"][0]["content"] == "broken \ud83d"


class Place(BaseModel):
    """A place."""

    name: str


async def test_structured_output_by_a_call(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(call(0, name="Place", call_id="c", args='{"name": "Bern"}'), CALLS)
    assert await lean.with_structured_output(Place, method="function_calling").ainvoke("hi") == Place(name="Bern")
    assert server.bodies[0]["stream"] is True


async def test_structured_output_by_schema_goes_the_parents_way(server: Any) -> None:
    message = {"role": "assistant", "content": '{"name": "Bern"}'}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    server.will_answer_json({"id": "c", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice]})
    model = variant(server)
    answer = await model.with_structured_output(Place, method="json_schema").ainvoke("hi")
    await model.root_async_client.close()
    assert answer == Place(name="Bern")
    assert server.bodies[0]["stream"] is False


async def test_an_agent_calls_tools_and_streams_its_answer(server: Any, lean: ChatOpenAICompatible) -> None:
    @tool
    async def look(place: str) -> str:
        """Look somewhere."""
        return f"nothing at {place}"

    server.will_stream(*SAME_AS_CHAT_OPENAI["two calls in pieces"])
    server.will_stream(*text("There ", "is ", "nothing."), STOP, USAGE)
    agent = create_agent(lean, tools=[look])
    seen = [
        piece
        async for piece, _ in agent.astream({"messages": [{"role": "user", "content": "look"}]}, stream_mode="messages")
    ]
    assert "".join(str(p.content) for p in seen if isinstance(p, AIMessageChunk)) == "Let me look.There is nothing."
    results = [m["content"] for m in server.bodies[1]["messages"] if m["role"] == "tool"]
    assert results == ["nothing at here", "nothing at there"]
    assert [t["function"]["name"] for t in server.bodies[0]["tools"]] == ["look"]


async def test_chunks_reach_callbacks(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(*text("Hel", "lo"), STOP)
    told = [
        event["data"]["chunk"].content
        async for event in lean.astream_events("hi", version="v2")
        if event["event"] == "on_chat_model_stream"
    ]
    assert "".join(told) == "Hello"


async def test_after_aclose_the_model_can_be_used_again(server: Any, lean: ChatOpenAICompatible) -> None:
    server.will_stream(*text("Hello"), STOP)
    await lean.ainvoke("hi")
    await lean.aclose()
    await lean.aclose()
    assert (await lean.ainvoke("hi")).content == "Hello"
    assert server.connections[0] != server.connections[1]


def test_a_forgotten_session_is_closed_with_its_loop(recwarn: pytest.WarningsRecorder) -> None:
    async def serve_and_ask() -> ChatOpenAICompatible:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            body = (
                b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
            )
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body)
            writer.write(head + body)
            try:
                await reader.read()  # the connection stays open, as a server keeps it for the next request
            finally:
                writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/v1"
        model = ChatOpenAICompatible(model="m", api_key="k", base_url=url)
        assert (await model.ainvoke("hi")).content == "Hi"
        server.close()
        return model

    kept = asyncio.run(serve_and_ask())
    del kept
    gc.collect()
    assert [str(warning.message) for warning in recwarn if warning.category is ResourceWarning] == []
