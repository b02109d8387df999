"""What a provider is told of a tool, made once: a graph binds the same tools before every call of the model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

_MOST_KEPT: Final = 500


@dataclass(frozen=True, slots=True)
class _Kept:
    tool: BaseTool  # held, so that its id is not given to another
    made_of: tuple[Any, ...]
    schema: dict[str, Any]


class ToolSchemas:
    """Keeps the schemas of tools as long as the tools say the same of themselves."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Kept] = OrderedDict()

    def of(self, tools: Sequence[Any]) -> list[Any]:
        """The tools with those replaced by their schema that are plain ones; the others are left to LangChain."""
        return [self._of(tool) if isinstance(tool, BaseTool) and not tool.extras else tool for tool in tools]

    def _of(self, tool: BaseTool) -> dict[str, Any]:
        made_of = (tool.name, tool.description, tool.args_schema, tool.metadata)
        kept = self._kept.get(id(tool))
        if kept is None or kept.made_of != made_of:
            kept = self._kept[id(tool)] = _Kept(tool, made_of, convert_to_openai_tool(tool))
        self._kept.move_to_end(id(tool))
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return kept.schema
