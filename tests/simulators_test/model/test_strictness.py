"""Conversations that a strict provider refuses are refused by the simulated one, and recorded."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from tests.simulators.model import ModelSimulator, Text, ToolCall

pytestmark = pytest.mark.asyncio(loop_scope="module")
USER = {"role": "user", "content": "hello"}
SYSTEM = {"role": "system", "content": "Be brief."}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator() as model:
        yield model


def call(identity: str, arguments: str = "{}") -> dict:
    return {"id": identity, "type": "function", "function": {"name": "ls", "arguments": arguments}}


def calling(*identities: str) -> dict:
    return {"role": "assistant", "content": None, "tool_calls": [call(identity) for identity in identities]}


def result(identity: str) -> dict:
    return {"role": "tool", "tool_call_id": identity, "content": "done"}


async def post(model: ModelSimulator, messages: list, **body) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {model.api_key}"}) as session,
        session.post(f"{model.base_url}/chat/completions", json={"messages": messages, **body}) as reply,
    ):
        answer = await reply.json()
        return reply.status, answer.get("error", {}).get("message", "")


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        ([], "non-empty list"),
        ([SYSTEM], "must be a user's"),
        ([{"role": "assistant", "content": "hi"}, USER], "must be a user's"),
        ([USER, SYSTEM], "system message must come first"),
        ([USER, {"role": "assistant", "content": ""}, USER], "needs content or tool calls"),
        ([{"role": "user", "content": ""}], "must not be empty"),
        ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "parts must not be empty"),
        ([{"role": "narrator", "content": "x"}], "unknown role"),
        ([USER, calling("a")], "without a result"),
        ([USER, calling("a"), USER], "without a result right after"),
        ([USER, calling("a", "b"), result("a"), USER], "without a result right after"),
        ([USER, result("a")], "answers no call"),
        ([USER, calling("a"), result("a"), result("a")], "answers no call"),
        ([USER, calling("a", "a"), result("a")], "is not unique"),
        ([USER, calling("a"), result("a"), calling("a"), result("a")], "is not unique"),
        ([USER, {**calling("a"), "tool_calls": [call("a", "{broken")]}, result("a")], "are not JSON"),
    ],
)
async def test_a_broken_conversation_is_refused_and_recorded(model: ModelSimulator, messages: list, rule: str):
    status, message = await post(model, messages)
    assert status == 400
    assert rule in message
    assert rule in (await model.violations())[-1]["rule"]


async def test_sound_conversations_pass(model: ModelSimulator):
    before = await model.violations()
    rich = {
        "role": "user",
        "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:"}}],
    }
    for messages in (
        [USER],
        [SYSTEM, SYSTEM, USER],
        [USER, calling("a", "b"), result("b"), result("a"), {"role": "assistant", "content": "so"}, USER],
        [rich],
    ):
        assert (await post(model, messages))[0] == 200
    assert await model.violations() == before


async def test_tool_names_must_be_unique(model: ModelSimulator):
    tool = {"type": "function", "function": {"name": "ls", "parameters": {}}}
    assert "not unique" in (await post(model, [USER], tools=[tool, tool]))[1]


async def test_an_id_which_the_script_reuses_is_no_fault_of_the_client(model: ModelSimulator):
    await model.script(ToolCall("ls", {}, id="a"))
    await model.script(ToolCall("ls", {}, id="a"))
    await post(model, [USER])
    await post(model, [USER, calling("a"), result("a")])
    await model.script(Text("done"))
    assert (await post(model, [USER, calling("a"), result("a"), calling("a"), result("a")]))[0] == 200
