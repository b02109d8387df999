"""`present_files`: hands finished files to the person."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command
from pydantic import BaseModel, Field

from agent.context import RunContext
from agent.errors import PathOutside, ToolFailed
from agent.paths import VIRTUAL_ROOT
from agent.sandbox import Sandbox, SandboxProvider

OUTPUTS: Final = VIRTUAL_ROOT / "outputs"

Runtime = ToolRuntime[RunContext, object]


class PresentFilesArguments(BaseModel):
    """What the model gives to `present_files`."""

    filepaths: list[str] = Field(min_length=1, description="Absolute paths below /mnt/user-data/outputs.")


def present_files_tool(sandboxes: SandboxProvider) -> BaseTool:
    """Build `present_files`: its message carries the paths as `artifact`, the state keeps them in `artifacts`."""

    async def present_files(filepaths: list[str], runtime: Runtime) -> Command[object]:
        """Give finished files to the person, who sees nothing else of the file system."""
        sandbox = await sandboxes.acquire(runtime.context.thread_id)
        presented = list(dict.fromkeys([await _presentable(sandbox, path) for path in filepaths]))
        message = ToolMessage(
            f"Presented: {', '.join(presented)}",
            name="present_files",
            tool_call_id=runtime.tool_call_id,
            artifact={"presented_files": presented},
        )
        return Command(update={"artifacts": presented, "messages": [message]})

    return StructuredTool.from_function(coroutine=present_files, args_schema=PresentFilesArguments)


async def _presentable(sandbox: Sandbox, path: str) -> str:
    if not PurePosixPath(path).is_relative_to(OUTPUTS):
        raise PathOutside(f"only files below {OUTPUTS} can be presented, not {path}: write the file there first")
    entry = await sandbox.stat(path)
    if entry.is_directory:
        raise ToolFailed(f"{path} is a directory: name the files")
    return entry.path
