"""A scripted OpenAI-compatible model server and the tests' hand on it."""

from .client import ModelSimulator
from .directives import answer_text
from .script import Cut, Finish, Gate, HttpError, Reasoning, Stall, Step, Text, ToolCall

__all__ = [
    "Cut",
    "Finish",
    "Gate",
    "HttpError",
    "ModelSimulator",
    "Reasoning",
    "Stall",
    "Step",
    "Text",
    "ToolCall",
    "answer_text",
]
