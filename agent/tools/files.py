"""The tools that list, read and change the thread's files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, Field

from agent.context import RunContext
from agent.sandbox import FileEntry, FileText, SandboxProvider

# Each tool names its arguments in a schema of its own: one derived from the function would hold the runtime too, and
# LangChain would then dump the whole state at every call.
Runtime = ToolRuntime[RunContext, object]

FilePath = Annotated[str, Field(description="Absolute path below /mnt/user-data/workspace, uploads or outputs.")]


class LsArguments(BaseModel):
    """What the model gives to `ls`."""

    path: FilePath


def ls_tool(sandboxes: SandboxProvider, *, max_chars: int) -> BaseTool:
    """Build `ls`, which cuts its listing at `max_chars`."""

    async def ls(path: str, runtime: Runtime) -> str:
        """List a directory and what is in its directories, one path per line; directories end in a slash."""
        sandbox = await sandboxes.acquire(runtime.context.thread_id)
        return _listing(await sandbox.ls(path), max_chars)

    return StructuredTool.from_function(coroutine=ls, args_schema=LsArguments)


class ReadFileArguments(BaseModel):
    """What the model gives to `read_file`."""

    path: FilePath
    start_line: int | None = Field(default=None, description="First line to read, from 1.")
    end_line: int | None = Field(default=None, description="Last line to read, included.")


def read_file_tool(sandboxes: SandboxProvider) -> BaseTool:
    """Build `read_file`."""

    async def read_file(path: str, runtime: Runtime, start_line: int | None = None, end_line: int | None = None) -> str:
        """Read a text file, or the given lines of it."""
        sandbox = await sandboxes.acquire(runtime.context.thread_id)
        first = 1 if start_line is None else start_line
        return _reading(await sandbox.read(path, start_line=first, end_line=end_line))

    return StructuredTool.from_function(coroutine=read_file, args_schema=ReadFileArguments)


class WriteFileArguments(BaseModel):
    """What the model gives to `write_file`."""

    path: FilePath
    content: str = Field(description="The text, exactly as it shall stand in the file.")
    append: bool = Field(default=False, description="Add to the end instead of replacing the file.")


def write_file_tool(sandboxes: SandboxProvider) -> BaseTool:
    """Build `write_file`."""

    async def write_file(path: str, content: str, runtime: Runtime, append: bool = False) -> str:
        """Write a text file; missing directories are made. Write long files in parts, with append."""
        sandbox = await sandboxes.acquire(runtime.context.thread_id)
        await sandbox.write(path, content, append=append)
        return "OK"

    return StructuredTool.from_function(coroutine=write_file, args_schema=WriteFileArguments)


class StrReplaceArguments(BaseModel):
    """What the model gives to `str_replace`."""

    path: FilePath
    old_str: str = Field(description="The text to replace; without replace_all it must occur exactly once.")
    new_str: str = Field(description="What takes its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


def str_replace_tool(sandboxes: SandboxProvider) -> BaseTool:
    """Build `str_replace`."""

    async def str_replace(path: str, old_str: str, new_str: str, runtime: Runtime, replace_all: bool = False) -> str:
        """Replace a piece of text in a file."""
        sandbox = await sandboxes.acquire(runtime.context.thread_id)
        replaced = await sandbox.edit(path, old_str, new_str, replace_all=replace_all)
        return "OK" if replaced == 1 else f"OK, {replaced} times"

    return StructuredTool.from_function(coroutine=str_replace, args_schema=StrReplaceArguments)


def _listing(entries: Sequence[FileEntry], max_chars: int) -> str:
    lines = [f"{entry.path}/" if entry.is_directory else entry.path for entry in entries]
    room = max_chars
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return "\n".join([*lines[:count], f"[{len(lines) - count} more: list a directory further down]"])
    return "\n".join(lines) or "(empty)"


def _reading(read: FileText) -> str:
    if not read.text:
        return "(empty)"
    notes = ["the line is longer than one read gives and was cut"] if read.cut else []
    notes += [f"there is more: read on with start_line={read.next_line}"] if read.next_line else []
    return f"{read.text}\n[{'; '.join(notes)}]" if notes else read.text
