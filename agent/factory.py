"""Configuration and resources in, compiled graphs out: one per distinct configuration."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langgraph.graph.state import CompiledStateGraph

from agent.config import AgentConfig
from agent.context import RunContext
from agent.folding import fold, steps_per_round
from agent.models import ModelConfig, build_model, choose_model
from agent.paths import ThreadPaths
from agent.prompts import read_prompt
from agent.sandbox import SandboxProvider
from agent.stack import build_stack
from agent.state import ThreadState
from agent.toolbox import build_toolbox

AgentGraph: TypeAlias = CompiledStateGraph[Any, RunContext, Any, Any]


@dataclass(frozen=True, slots=True)
class GraphKey:
    """What makes a graph another one."""

    model_name: str
    thinking_enabled: bool


@dataclass(frozen=True, slots=True)
class BuiltGraph:
    """A compiled graph without a saver, and how many supersteps it takes from one model call to the next."""

    graph: AgentGraph
    steps_per_round: int


class GraphFactory:
    """Builds each graph once; there are at most two for every configured model."""

    def __init__(self, config: AgentConfig, paths: ThreadPaths, sandboxes: SandboxProvider) -> None:
        self._config = config
        self._paths = paths
        self._sandboxes = sandboxes
        self._built: dict[GraphKey, BuiltGraph] = {}
        self._building = Lock()

    def graph_for(self, context: RunContext | None = None) -> BuiltGraph:
        """Give the graph for a run's options, without a run the default one.

        The first time imports the provider's package, which may take seconds. Raises `ModelNotConfigured` if the model
        cannot be built.
        """
        return self._build_once(*self._choose(context))

    async def prepared(self, context: RunContext | None = None) -> BuiltGraph:
        """Give the graph as `graph_for` does, built off the event loop if it has to be."""
        model, key = self._choose(context)
        if key not in self._built:
            return await asyncio.to_thread(self._build_once, model, key)
        return self._built[key]

    def _choose(self, context: RunContext | None) -> tuple[ModelConfig, GraphKey]:
        model = choose_model(self._config.models, context.model_name if context else None)
        thinking = model.supports_thinking and (context is None or context.thinking_enabled)
        return model, GraphKey(model.name, thinking)

    def _build_once(self, model: ModelConfig, key: GraphKey) -> BuiltGraph:
        with self._building:
            if key not in self._built:
                self._built[key] = self._build(build_model(model, thinking_enabled=key.thinking_enabled))
            return self._built[key]

    def _build(self, model: BaseChatModel) -> BuiltGraph:
        tools = build_toolbox(self._config, self._sandboxes)
        middlewares = fold(
            build_stack(self._config, self._paths), returns_direct=any(tool.return_direct for tool in tools)
        )
        graph: AgentGraph = create_agent(
            model,
            tools,
            system_prompt=lead_prompt(self._config),
            middleware=middlewares,
            state_schema=ThreadState,
            context_schema=RunContext,
        )
        return BuiltGraph(graph, steps_per_round(middlewares))


def lead_prompt(config: AgentConfig) -> str:
    """Compose the lead agent's system prompt: the same bytes for every call of one configuration."""
    parts = ["lead_agent", *(["clarification"] if config.clarification.enabled else [])]
    return "\n\n".join(map(read_prompt, parts))
