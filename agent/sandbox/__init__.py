"""Sandboxes: where the agent's tools read and write a thread's files."""

from __future__ import annotations

from typing import Protocol, cast

from agent.class_path import load_class
from agent.paths import ThreadPaths
from agent.sandbox.config import SandboxConfig
from agent.sandbox.contract import FileEntry, FileText, Sandbox, SandboxProvider

__all__ = ["FileEntry", "FileText", "Sandbox", "SandboxConfig", "SandboxProvider", "open_sandbox_provider"]


class _Provider(Protocol):
    def __call__(self, paths: ThreadPaths, config: SandboxConfig) -> SandboxProvider: ...


def open_sandbox_provider(config: SandboxConfig, paths: ThreadPaths) -> SandboxProvider:
    """Build the configured provider; raises `ClassNotLoaded` for a `use` that leads nowhere."""
    return cast("_Provider", load_class(config.use, object))(paths, config)
