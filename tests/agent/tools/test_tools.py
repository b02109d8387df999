"""The file tools as a model calls them, through an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agent.context import RunContext
from agent.errors import PathOutside, ToolFailed
from agent.paths import ThreadPaths
from agent.sandbox import SandboxConfig, open_sandbox_provider
from agent.state import ThreadState
from agent.tools import build_tools

THREAD = "thread-1"
WORK = "/mnt/user-data/workspace"
OUT = "/mnt/user-data/outputs"


class Scripted(GenericFakeChatModel):
    """Says what it was given, tools or not."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


@pytest.fixture
def paths(tmp_path: Path) -> ThreadPaths:
    return ThreadPaths(tmp_path)


@pytest.fixture
def tools(paths: ThreadPaths) -> list[BaseTool]:
    config = SandboxConfig(ls_max_chars=200, read_max_chars=100)
    return build_tools(open_sandbox_provider(config, paths), config)


async def state_after(tools: list[BaseTool], name: str, thread_id: str = THREAD, **args: Any) -> dict[str, Any]:
    call = AIMessage("", tool_calls=[{"name": name, "args": args, "id": "call-1"}])
    model = Scripted(messages=iter([call, AIMessage("done")]))
    agent = create_agent(model, tools=tools, state_schema=ThreadState, context_schema=RunContext)
    return await agent.ainvoke({"messages": [("user", "go")]}, context=RunContext(thread_id, "run-1"))


async def result(tools: list[BaseTool], name: str, thread_id: str = THREAD, **args: Any) -> ToolMessage:
    state = await state_after(tools, name, thread_id, **args)
    [message] = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    return message


async def test_files_are_written_listed_read_and_changed(tools: list[BaseTool]) -> None:
    assert (await result(tools, "ls", path=WORK)).content == "(empty)"
    assert (await result(tools, "write_file", path=f"{WORK}/d/a.txt", content="one\ntwo\n")).content == "OK"
    assert (await result(tools, "write_file", path=f"{WORK}/d/a.txt", content="six\n", append=True)).content == "OK"
    assert (await result(tools, "ls", path=WORK)).content == f"{WORK}/d/\n{WORK}/d/a.txt"
    assert (await result(tools, "str_replace", path=f"{WORK}/d/a.txt", old_str="six", new_str="three")).content == "OK"
    assert (await result(tools, "read_file", path=f"{WORK}/d/a.txt")).content == "one\ntwo\nthree\n"
    assert (await result(tools, "read_file", path=f"{WORK}/d/a.txt", start_line=2, end_line=2)).content == "two\n"
    assert (await result(tools, "read_file", path=f"{WORK}/d/a.txt", end_line=1)).content == "one\n"


async def test_every_occurrence_is_counted(tools: list[BaseTool]) -> None:
    await result(tools, "write_file", path=f"{WORK}/a.txt", content="a a")
    args = {"path": f"{WORK}/a.txt", "old_str": "a", "new_str": "b"}
    assert (await result(tools, "str_replace", **args, replace_all=True)).content == "OK, 2 times"


async def test_one_graph_serves_every_thread(tools: list[BaseTool], paths: ThreadPaths) -> None:
    await result(tools, "write_file", "thread-a", path=f"{WORK}/a.txt", content="a")
    await result(tools, "write_file", "thread-b", path=f"{WORK}/a.txt", content="b")
    assert (paths.workspace("thread-a") / "a.txt").read_text() == "a"
    assert (paths.workspace("thread-b") / "a.txt").read_text() == "b"


async def test_long_texts_and_listings_say_how_to_go_on(tools: list[BaseTool]) -> None:
    await result(tools, "write_file", path=f"{WORK}/long.txt", content="0123456789\n" * 20)
    assert str((await result(tools, "read_file", path=f"{WORK}/long.txt")).content).endswith(
        "\n[there is more: read on with start_line=10]"
    )
    await result(tools, "write_file", path=f"{WORK}/wide.txt", content="x" * 500 + "\nend")
    told = str((await result(tools, "read_file", path=f"{WORK}/wide.txt")).content)
    assert "was cut; there is more: read on with start_line=2" in told
    for number in range(20):
        await result(tools, "write_file", path=f"{WORK}/f{number:02}.txt", content="")
    listing = str((await result(tools, "ls", path=WORK)).content)
    assert len(listing) < 300
    assert listing.endswith("more: list a directory further down]")
    assert (await result(tools, "read_file", path=f"{WORK}/f00.txt")).content == "(empty)"


async def test_files_are_presented_once_and_kept_in_order(tools: list[BaseTool]) -> None:
    for name in ("b.md", "a.md"):
        await result(tools, "write_file", path=f"{OUT}/{name}", content="x")
    state = await state_after(tools, "present_files", filepaths=[f"{OUT}/b.md", f"{OUT}/a.md", f"{OUT}/./b.md"])
    [message] = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    assert state["artifacts"] == [f"{OUT}/b.md", f"{OUT}/a.md"]
    assert message.artifact == {"presented_files": [f"{OUT}/b.md", f"{OUT}/a.md"]}
    assert message.name == "present_files"
    assert message.status == "success"


@pytest.mark.parametrize(
    "path", [f"{WORK}/a.md", "/etc/passwd", "/mnt/user-data/outputs2/a.md", f"{OUT}/../workspace/a.md"]
)
async def test_only_outputs_are_presented(tools: list[BaseTool], path: str) -> None:
    await result(tools, "write_file", path=f"{WORK}/a.md", content="x")
    with pytest.raises(PathOutside):
        await result(tools, "present_files", filepaths=[path])


async def test_what_is_not_there_is_not_presented(tools: list[BaseTool]) -> None:
    await result(tools, "write_file", path=f"{OUT}/dir/a.md", content="x")
    with pytest.raises(ToolFailed, match="there is no"):
        await result(tools, "present_files", filepaths=[f"{OUT}/dir/a.md", f"{OUT}/gone.md"])
    with pytest.raises(ToolFailed, match="is a directory"):
        await result(tools, "present_files", filepaths=[f"{OUT}/dir"])


async def test_failures_are_typed(tools: list[BaseTool]) -> None:
    with pytest.raises(ToolFailed, match="there is no"):
        await result(tools, "read_file", path=f"{WORK}/gone.txt")
    with pytest.raises(PathOutside):
        await result(tools, "read_file", path="/etc/passwd")


def test_the_model_is_shown_the_arguments_and_nothing_of_ours(tools: list[BaseTool]) -> None:
    shown = {tool["function"]["name"]: tool["function"] for tool in map(convert_to_openai_tool, tools)}
    assert list(shown) == ["ls", "read_file", "write_file", "str_replace", "present_files"]
    for function in shown.values():
        assert function["description"]
        assert "runtime" not in function["parameters"]["properties"]
        assert all(known.get("description") for known in function["parameters"]["properties"].values())
    assert shown["read_file"]["parameters"]["required"] == ["path"]
    assert shown["str_replace"]["parameters"]["required"] == ["path", "old_str", "new_str"]
