"""The tool list, with its conditions: the one place that says which tools the lead agent has."""

from __future__ import annotations

from langchain_core.tools import BaseTool

from agent.clarification import clarification_tool
from agent.config import AgentConfig
from agent.sandbox import SandboxProvider
from agent.tools import build_tools


def build_toolbox(config: AgentConfig, sandboxes: SandboxProvider) -> list[BaseTool]:
    """Give the tools in the order the model reads them."""
    asking = [clarification_tool()] if config.clarification.enabled else []
    return [*asking, *build_tools(sandboxes, config.sandbox)]
