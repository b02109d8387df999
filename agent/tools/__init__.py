"""The agent's own tools."""

from __future__ import annotations

from langchain_core.tools import BaseTool

from agent.sandbox import SandboxConfig, SandboxProvider
from agent.tools.files import ls_tool, read_file_tool, str_replace_tool, write_file_tool
from agent.tools.present_files import present_files_tool

__all__ = ["build_tools"]


def build_tools(sandboxes: SandboxProvider, config: SandboxConfig) -> list[BaseTool]:
    """Build the file tools, for all threads at once: each call finds its thread in the run's context."""
    return [
        ls_tool(sandboxes, max_chars=config.ls_max_chars),
        read_file_tool(sandboxes),
        write_file_tool(sandboxes),
        str_replace_tool(sandboxes),
        present_files_tool(sandboxes),
    ]
