"""The AgentError tree: everything the agent raises on purpose.

AgentError
├── ModelCallFailed        the provider gave up, after the retries
├── ModelNotConfigured     a model that cannot be built from its configuration
├── ClassNotLoaded         a `use` path that leads to no class of the kind wanted
├── ToolFailed             a tool that could not do what it was asked
│   └── PathOutside        a path that leaves the thread's directories
├── LeaseLost              a newer owner of the thread has written its fence
├── CheckpointNotStored    the checkpoint database refused or could not be reached
├── StepLimitReached       a run that took all the steps it was allowed
├── UnknownCheckpoint      no such checkpoint in the thread, or it is pruned
├── UnknownAssistant       no assistant of this name
└── StackOrderError        a middleware list that breaks an order rule
"""

from __future__ import annotations

from typing import ClassVar


class AgentError(Exception):
    """What went wrong in the agent, for three readers.

    `code` is a stable word for programs, `retryable` says whether the same request may succeed later, and
    `user_message` is one line for the person (no secret in it) or None when there is nothing to tell.
    """

    code: ClassVar[str] = "agent_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, user_message: str | None = None) -> None:
        super().__init__(message)
        self.user_message = user_message


class ModelCallFailed(AgentError):
    """The model gave no answer, after every retry the error allowed."""

    code: ClassVar[str] = "model_call_failed"
    retryable: ClassVar[bool] = False


class ModelNotConfigured(AgentError):
    """A model entry that cannot be built: its `use` path, its package or its keys are wrong."""

    code: ClassVar[str] = "model_not_configured"


class ClassNotLoaded(AgentError):
    """A `package.module:Class` path of the configuration that cannot be loaded; the message says what to do."""

    code: ClassVar[str] = "class_not_loaded"


class ToolFailed(AgentError):
    """A tool could not do what it was asked; the model reads the message and may try another way."""

    code: ClassVar[str] = "tool_failed"


class PathOutside(ToolFailed):
    """A path that leaves the thread's directories, after links and `..` are resolved."""

    code: ClassVar[str] = "path_outside"


class LeaseLost(AgentError):
    """A higher fence stands for the thread: another process owns it, and this one must stop writing."""

    code: ClassVar[str] = "lease_lost"


class CheckpointNotStored(AgentError):
    """A step could not be stored; the run stopped there and can be continued from the step before."""

    code: ClassVar[str] = "checkpoint_not_stored"
    retryable: ClassVar[bool] = True


class StepLimitReached(AgentError):
    """The run took every step it was allowed; what it did stands, and the next message goes on from there."""

    code: ClassVar[str] = "step_limit_reached"


class UnknownCheckpoint(AgentError):
    """The thread has no such checkpoint, or has it no longer."""

    code: ClassVar[str] = "unknown_checkpoint"


class UnknownAssistant(AgentError):
    """No assistant has this id."""

    code: ClassVar[str] = "unknown_assistant"


class StackOrderError(AgentError):
    """The middleware list breaks an order rule; the message names the offender."""

    code: ClassVar[str] = "stack_order"
