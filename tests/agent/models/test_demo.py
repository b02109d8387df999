"""The demo model, alone and through create_agent with the real tools."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolCallRequest, wrap_tool_call
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.context import RunContext
from agent.errors import ToolFailed
from agent.models import DemoChatModel
from agent.paths import ThreadPaths
from agent.sandbox import SandboxConfig, open_sandbox_provider
from agent.tools import build_tools

THREAD = "thread-1"


@tool("ask_clarification", return_direct=True)
async def ask_clarification(
    question: str, clarification_type: str, options: list[str], context: str | None = None
) -> str:
    """Ask the person."""
    return f"{clarification_type}: {question} {context} {' / '.join(options)}"


@wrap_tool_call
async def tell_failures(request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
    try:
        return await handler(request)
    except ToolFailed as error:
        call = request.tool_call
        return ToolMessage(str(error), name=call["name"], tool_call_id=call["id"], status="error")


class Chat:
    """A conversation with the demo agent in a directory of its own."""

    def __init__(self, home: Path) -> None:
        self.paths = ThreadPaths(home)
        config = SandboxConfig()
        tools = build_tools(open_sandbox_provider(config, self.paths), config)
        self.agent = create_agent(
            DemoChatModel(word_delay_seconds=0),
            tools=[*tools, ask_clarification],
            middleware=[tell_failures],
            context_schema=RunContext,
            checkpointer=InMemorySaver(),
        )

    async def say(self, text: str, **extra: Any) -> list[Any]:
        """Take one turn; gives its messages after the person's own."""
        message = HumanMessage(text, id=str(uuid.uuid4()), additional_kwargs=extra)
        config = {"configurable": {"thread_id": THREAD}}
        state = await self.agent.ainvoke({"messages": [message]}, config, context=RunContext(THREAD, "run"))
        at = next(i for i, known in enumerate(state["messages"]) if known.id == message.id)
        return state["messages"][at + 1 :]


@pytest.fixture
async def chat(tmp_path: Path) -> Chat:
    chat = Chat(tmp_path)
    await chat.paths.create(THREAD)
    return chat


async def test_greeting_says_that_it_is_a_demo_and_how_to_configure_a_model(chat: Chat) -> None:
    [answer] = await chat.say("Hello")
    assert "demo model" in answer.content
    assert "config.yaml" in answer.content
    assert "make a report" in answer.content


async def test_a_vague_wish_is_asked_about_and_the_answer_becomes_a_presented_file(chat: Chat) -> None:
    call, question = await chat.say("make a report")
    assert call.tool_calls[0]["name"] == question.name == "ask_clarification"
    assert len(call.tool_calls[0]["args"]["options"]) == 3

    turn = await chat.say("A short summary")
    assert [m.name for m in turn if isinstance(m, ToolMessage)] == ["write_file", "present_files"]
    [presented] = [m.artifact["presented_files"] for m in turn if m.name == "present_files"]
    real = chat.paths.resolve(THREAD, presented[0])
    assert "A short summary" in real.read_text()
    assert {"|---|", "\n1. ", "```python"} <= {
        mark for mark in ("|---|", "\n1. ", "```python") if mark in turn[-1].content
    }


async def test_a_file_is_written_at_once_when_that_is_asked(chat: Chat) -> None:
    turn = await chat.say("please write a file about tea")
    assert [m.name for m in turn if isinstance(m, ToolMessage)] == ["write_file", "present_files"]
    assert "tea" in chat.paths.outputs(THREAD).joinpath("demo-report.md").read_text()


async def test_an_uploaded_csv_is_read_and_its_shape_told(chat: Chat) -> None:
    chat.paths.uploads(THREAD).joinpath("sales 2026.csv").write_text('city,amount\n"Bern | Biel",3\nOslo,4\n')
    turn = await chat.say("", files=[{"filename": "sales 2026.csv", "path": "/mnt/user-data/uploads/sales 2026.csv"}])
    assert turn[0].tool_calls[0]["args"] == {"path": "/mnt/user-data/uploads/sales 2026.csv"}
    assert "2 rows and 2 columns: city, amount" in turn[-1].content
    assert r"| Bern \| Biel | 3 |" in turn[-1].content


async def test_an_upload_named_in_the_block_is_read(chat: Chat) -> None:
    chat.paths.uploads(THREAD).joinpath("notes.txt").write_text("one\n```\nthree\n")
    block = "<current_uploads>\n- notes.txt (13 B): /mnt/user-data/uploads/notes.txt\n</current_uploads>\n\nwhat is it?"
    turn = await chat.say(block)
    assert "3 lines" in turn[-1].content
    assert "````\none\n```\nthree\n````" in turn[-1].content


async def test_several_files_are_all_named_and_none_is_made_up(chat: Chat) -> None:
    chat.paths.uploads(THREAD).joinpath("a b.txt").write_text("one\n")
    files = [{"path": "/mnt/user-data/uploads/a b.txt"}, {"path": "/mnt/user-data/uploads/c.txt"}]
    block = "<current_uploads>\n- /mnt/user-data/uploads/a b.txt\n- /mnt/user-data/uploads/c.txt\n</current_uploads>"
    turn = await chat.say(block, files=files)
    assert turn[-1].content.endswith("these came too:\n\n- `c.txt`\n")


async def test_a_picture_is_acknowledged_honestly(chat: Chat) -> None:
    [answer] = await chat.say("what is on it?", files=[{"path": "/mnt/user-data/uploads/a.PNG"}])
    assert "`a.PNG` has arrived" in answer.content
    assert "cannot" in answer.content


async def test_a_file_cut_by_the_read_limit_is_called_at_least_so_long(chat: Chat) -> None:
    chat.paths.uploads(THREAD).joinpath("long.csv").write_text("a,b\n" + "1,2\n" * 20_000)
    turn = await chat.say("", files=[{"path": "/mnt/user-data/uploads/long.csv"}])
    assert "at least 12499 rows" in turn[-1].content


async def test_a_failed_tool_is_told_not_hidden(chat: Chat) -> None:
    turn = await chat.say("look", files=[{"path": "/mnt/user-data/uploads/gone.txt"}])
    assert "there is no /mnt/user-data/uploads/gone.txt" in turn[-1].content


async def test_without_tools_it_only_talks() -> None:
    answer = await DemoChatModel(word_delay_seconds=0).ainvoke([HumanMessage("write a file")])
    assert answer.tool_calls == []
    assert "demo model" in answer.content


async def test_it_streams_word_by_word_and_the_same_every_time() -> None:
    model = DemoChatModel(word_delay_seconds=0)
    chunks = [chunk async for chunk in model.astream("tell me a story")]
    assert len([chunk for chunk in chunks if chunk.content]) > 20
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    once_more = await model.ainvoke("tell me a story")
    assert whole.content == once_more.content
    assert whole.usage_metadata == once_more.usage_metadata
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["input_tokens"] == 4


async def test_a_call_is_streamed_in_pieces_that_make_a_whole() -> None:
    model = DemoChatModel(word_delay_seconds=0).bind_tools([ask_clarification])
    chunks = [chunk async for chunk in model.astream([HumanMessage("make a plan", id="h1")])]
    pieces = [piece for chunk in chunks for piece in chunk.tool_call_chunks]
    assert pieces[0]["name"] == "ask_clarification"
    assert len(pieces) > 5
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    assert whole.tool_calls[0]["args"]["clarification_type"] == "approach_choice"
    assert whole.response_metadata["finish_reason"] == "tool_calls"


async def test_calls_of_two_turns_have_different_ids() -> None:
    model = DemoChatModel(word_delay_seconds=0).bind_tools([ask_clarification])
    first = HumanMessage("make a plan", id="h1")
    one = await model.ainvoke([first])
    assert isinstance(one, AIMessage)
    two = await model.ainvoke([first, AIMessage("fine"), HumanMessage("make a plan", id="h2")])
    assert one.tool_calls[0]["id"] != two.tool_calls[0]["id"]
