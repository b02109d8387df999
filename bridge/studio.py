"""The agent for LangGraph's own tools (`langgraph dev`, Studio): `langgraph.json` points here. The bridge itself does not use it."""

import asyncio
import os

from agent.factory import AgentGraph, GraphFactory
from agent.paths import ThreadPaths
from agent.sandbox import open_sandbox_provider
from bridge.config import Config, load_config


async def lead_agent() -> AgentGraph:
    """The graph as this machine's configuration describes it, without a saver: those tools bring their own."""
    return await asyncio.to_thread(_build, load_config(None, os.environ))


def _build(config: Config) -> AgentGraph:
    paths = ThreadPaths(config.home)
    return GraphFactory(config.agent, paths, open_sandbox_provider(config.agent.sandbox, paths)).graph_for().graph
