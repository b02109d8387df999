"""The simulated model answers as OpenAI's own client and LangChain expect."""

import asyncio
import time

import openai
import pytest
from langchain_openai import ChatOpenAI

from tests.simulators.model import (
    Cut,
    Finish,
    Gate,
    HttpError,
    ModelSimulator,
    Reasoning,
    Stall,
    Text,
    ToolCall,
    answer_text,
)


def asked(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]


async def streamed(client: openai.AsyncOpenAI, text: str, **options) -> list:
    stream = await client.chat.completions.create(model="fake", messages=asked(text), stream=True, **options)
    return [chunk async for chunk in stream]


async def read_into(seen: list[str], stream: openai.AsyncStream) -> None:
    async for chunk in stream:
        seen += [chunk.choices[0].delta.content or ""]


def text_of(chunks: list) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def test_a_directive_gives_one_event_per_token_from_its_id_to_end(client: openai.AsyncOpenAI):
    chunks = await streamed(client, "[bench id=x7 n=50 tps=0 ttft=0 tool=none] hello")
    with_text = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert len(with_text) == 50
    assert text_of(chunks) == answer_text("x7", 50)
    assert text_of(chunks).startswith("x7 ")
    assert text_of(chunks).endswith(" END")
    assert chunks[-1].choices[0].finish_reason == "stop"


async def test_the_second_answer_to_the_same_prompt_differs_unless_told_otherwise(client: openai.AsyncOpenAI):
    first, second = [text_of(await streamed(client, "[bench id=a n=9]")) for _ in range(2)]
    assert first == answer_text("a", 9)
    assert second == answer_text("a", 9, 2)
    assert first != second
    same = [text_of(await streamed(client, "[bench id=b n=9 same=1]")) for _ in range(2)]
    assert same[0] == same[1]


async def test_usage_comes_last_when_asked_for(client: openai.AsyncOpenAI):
    chunks = await streamed(client, "[bench id=a n=9]", stream_options={"include_usage": True})
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == 9


async def test_the_pace_and_the_first_token_keep_their_times(client: openai.AsyncOpenAI):
    began = time.monotonic()
    stream = await client.chat.completions.create(
        model="fake", messages=asked("[bench id=a n=20 tps=50 ttft=0.3]"), stream=True
    )
    times = [time.monotonic() - began async for chunk in stream if chunk.choices and chunk.choices[0].delta.content]
    assert times[0] > 0.29
    assert 0.3 < times[-1] - times[0] < 0.8
    assert times[10] - times[0] > 0.1


async def test_a_directive_calls_its_tools_first_and_answers_after_their_results(model: ModelSimulator):
    chat = ChatOpenAI(model="fake", api_key=model.api_key, base_url=model.base_url, max_retries=0)
    prompt = '[bench id=t n=10 tool=read_file,ls args={"path": "/a [1].txt"}] go'
    answer = await chat.ainvoke([("human", prompt)])
    assert [call["name"] for call in answer.tool_calls] == ["read_file", "ls"]
    assert answer.tool_calls[0]["args"] == {"path": "/a [1].txt"}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in answer.tool_calls]
    final = await chat.ainvoke([("human", prompt), answer, *results])
    assert final.content == answer_text("t", 10)
    assert await model.violations() == []


async def test_tool_calls_are_split_over_chunks_and_come_together_again(model: ModelSimulator):
    await model.script(
        Text("Let me look."), ToolCall("ls", {"path": "/mnt/user-data/uploads"}), ToolCall("read_file", {"path": "/b"})
    )
    chat = ChatOpenAI(model="fake", api_key=model.api_key, base_url=model.base_url, max_retries=0)
    chunks = [chunk async for chunk in chat.astream("look around")]
    assert len([chunk for chunk in chunks if chunk.tool_call_chunks]) > 4
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.content == "Let me look."
    assert [(call["name"], call["args"]["path"]) for call in whole.tool_calls] == [
        ("ls", "/mnt/user-data/uploads"),
        ("read_file", "/b"),
    ]
    assert whole.response_metadata["finish_reason"] == "tool_calls"


async def test_the_same_answer_comes_without_streaming(client: openai.AsyncOpenAI):
    answer = await client.chat.completions.create(model="fake", messages=asked("[bench id=q n=12]"))
    assert answer.choices[0].message.content == answer_text("q", 12)
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 12


async def test_a_prompt_without_directive_is_echoed_with_its_number(client: openai.AsyncOpenAI):
    assert text_of(await streamed(client, "hello there")) == "Answer 1 to: hello there"
    assert text_of(await streamed(client, "hello there")) == "Answer 2 to: hello there"


async def test_scripts_are_taken_in_order_by_the_prompts_they_match(model: ModelSimulator, client: openai.AsyncOpenAI):
    await model.script(Text("for Bo"), match="Bo", times=2)
    await model.script(Text("for anyone"))
    assert text_of(await streamed(client, "I am Ana")) == "for anyone"
    assert text_of(await streamed(client, "I am Bo")) == "for Bo"
    assert text_of(await streamed(client, "I am Bo")) == "for Bo"
    assert text_of(await streamed(client, "I am Bo")) == "Answer 3 to: I am Bo"


async def test_an_error_has_its_status_headers_and_code(model: ModelSimulator, client: openai.AsyncOpenAI):
    await model.script(HttpError(429, "slow down", "rate_limit_exceeded", {"retry-after": "7"}))
    with pytest.raises(openai.RateLimitError) as refused:
        await streamed(client, "hello")
    assert refused.value.response.headers["retry-after"] == "7"
    assert refused.value.code == "rate_limit_exceeded"
    await model.script(HttpError(503))
    with pytest.raises(openai.InternalServerError):
        await streamed(client, "hello")


async def test_a_cut_stream_breaks_the_connection_in_mid_text(model: ModelSimulator, client: openai.AsyncOpenAI):
    await model.script(Text("one two three"), Cut())
    stream = await client.chat.completions.create(model="fake", messages=asked("x"), stream=True)
    seen: list[str] = []
    with pytest.raises(openai.APIConnectionError):
        await read_into(seen, stream)
    assert "".join(seen) == "one two three"
    assert (await model.requests())[-1]["outcome"] == "cut"


async def test_a_gate_holds_the_stream_at_its_token_until_released(model: ModelSimulator, client: openai.AsyncOpenAI):
    await model.script(Text("one two"), Gate("middle"), Text(" three"))
    seen: list[str] = []
    stream = await client.chat.completions.create(model="fake", messages=asked("x"), stream=True)
    reading = asyncio.create_task(read_into(seen, stream))
    await model.gate_reached("middle")
    await asyncio.sleep(0.1)
    assert "".join(seen) == "one two"
    assert not reading.done()
    await model.release("middle")
    await asyncio.wait_for(reading, 5)
    assert "".join(seen) == "one two three"


async def test_a_stall_lets_a_client_time_out(model: ModelSimulator, client: openai.AsyncOpenAI):
    await model.script(Stall(5), Text("late"))
    stream = await client.chat.completions.create(model="fake", messages=asked("x"), stream=True, timeout=0.3)
    with pytest.raises(openai.APITimeoutError):
        await read_into([], stream)


async def test_reasoning_and_the_finish_reason_are_passed_on(model: ModelSimulator, client: openai.AsyncOpenAI):
    await model.script(Reasoning("let me think"), Text("half an ans"), Finish("length"))
    chunks = await streamed(client, "x")
    assert "".join(getattr(chunk.choices[0].delta, "reasoning_content", "") for chunk in chunks) == "let me think"
    assert chunks[-1].choices[0].finish_reason == "length"


async def test_the_log_holds_bodies_times_and_counts(model: ModelSimulator, client: openai.AsyncOpenAI):
    await streamed(client, "hello", temperature=0.5)
    await streamed(client, "hello")
    logged = await model.requests()
    assert logged[0]["body"]["temperature"] == 0.5
    assert logged[0]["began"] <= logged[0]["first_token"] <= logged[0]["ended"]
    assert (await model.asked()) == {"hello": 2}
    assert [request["number"] for request in await model.requests(after=1)] == [2]


async def test_sixty_four_chats_are_fed_at_once(client: openai.AsyncOpenAI):
    texts = await asyncio.gather(
        *(
            client.chat.completions.create(model="fake", messages=asked(f"[bench id=c{i} n=200 tps=400]"))
            for i in range(64)
        )
    )
    assert [answer.choices[0].message.content for answer in texts] == [answer_text(f"c{i}", 200) for i in range(64)]


async def test_a_wrong_key_is_refused(model: ModelSimulator):
    async with openai.AsyncOpenAI(api_key="sk-other", base_url=model.base_url) as stranger:
        with pytest.raises(openai.AuthenticationError):
            await streamed(stranger, "hello")
