"""Asking the person: the tool the model calls, the request a channel draws, and the middleware that ends the run."""

from __future__ import annotations

from agent.clarification.asking import ClarificationConfig, ClarificationMiddleware, clarification_tool
from agent.clarification.request import ASK_CLARIFICATION, ClarificationRequest, clarification_request

__all__ = [
    "ASK_CLARIFICATION",
    "ClarificationConfig",
    "ClarificationMiddleware",
    "ClarificationRequest",
    "clarification_request",
    "clarification_tool",
]
