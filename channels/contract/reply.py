"""The answer as it stands now: a whole snapshot, so that rendering it twice is harmless."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter


class ActivityState(StrEnum):
    """Where a tool call stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class NoticeKind(StrEnum):
    """What a line that is not the agent's own text says."""

    INFO = "info"
    WAITING = "waiting"
    STOPPED = "stopped"
    ERROR = "error"


class ReplyPhase(StrEnum):
    """Where the turn stands; `final` is the only phase after which nothing changes by itself."""

    QUEUED = "queued"
    WORKING = "working"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Text:
    """Markdown of one assistant message; `id` is that message's id."""

    id: str
    markdown: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ToolActivity:
    """One tool call as people may see it: never its arguments or its result in full."""

    id: str
    name: str
    state: ActivityState
    detail: str = ""
    kind: Literal["tool_activity"] = "tool_activity"


@dataclass(frozen=True, slots=True)
class Todo:
    """One line of the agent's plan."""

    text: str
    status: Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class Todos:
    """The agent's plan as it stands."""

    items: tuple[Todo, ...]
    kind: Literal["todos"] = "todos"


@dataclass(frozen=True, slots=True)
class Option:
    """One answer to choose; `value` is what the agent is told."""

    label: str
    value: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class FormField:
    """One thing to fill in. `options` make it a choice, `multiple` a choice of several."""

    name: str
    label: str
    options: tuple[Option, ...] = ()
    multiple: bool = False
    required: bool = True

    def label_of(self, value: str) -> str:
        """What people see for a value: the option's label, or the words that were written."""
        return next((option.label for option in self.options if option.value == value), value)


class ClarificationState(StrEnum):
    """Where a question stands; it leaves `open` once and for ever."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


PLAIN_ANSWER = "answer"
"""The name under which the answer to a question without fields is kept."""


@dataclass(frozen=True, slots=True)
class Clarification:
    """A question of the agent to the person. `token` is short (at most 16 characters of A–Z a–z 0–9 _ -) and names the stored row.

    It has `options` (one, or with `multiple` several of which are the answer; with `required` at least one), or the `fields` of
    a form, or neither: then it is answered in words. While it is open `filled` has what was chosen or written so far by the
    field's name (options by their value), and `step` the position of the field that is asked now.
    """

    token: str
    question: str
    icon: str = "❓"
    context: str = ""
    options: tuple[Option, ...] = ()
    multiple: bool = False
    required: bool = True
    fields: tuple[FormField, ...] = ()
    step: int = 0
    filled: dict[str, tuple[str, ...]] = field(default_factory=dict)
    state: ClarificationState = ClarificationState.OPEN
    answer: str = ""
    answered_by: str = ""
    expires_at: datetime | None = None
    kind: Literal["clarification"] = "clarification"

    @property
    def asked(self) -> tuple[FormField, ...]:
        """What is asked, field by field: a plain question is a form of one."""
        return self.fields or (FormField(PLAIN_ANSWER, self.question, self.options, self.multiple, self.required),)

    @property
    def current(self) -> FormField:
        """The field that is asked now."""
        return self.asked[min(self.step, len(self.asked) - 1)]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file the agent hands over; `path` is virtual and opened through the host."""

    path: str
    name: str
    mime_type: str
    size_bytes: int
    kind: Literal["artifact"] = "artifact"

    @property
    def is_image(self) -> bool:
        """Whether it may be shown in place (raster images only; an SVG can carry script)."""
        return self.mime_type in {"image/png", "image/jpeg", "image/gif", "image/webp"}


@dataclass(frozen=True, slots=True)
class Notice:
    """A line of ours about the turn: it waits, it was stopped, it failed and why."""

    notice: NoticeKind
    text: str
    kind: Literal["notice"] = "notice"


ReplyPart = Text | ToolActivity | Todos | Clarification | Artifact | Notice


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything a person should see of one turn, in order. `run_id` is None for an answer of the house itself (a command's)."""

    parts: tuple[Annotated[ReplyPart, Field(discriminator="kind")], ...] = ()
    phase: ReplyPhase = ReplyPhase.WORKING
    run_id: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether this snapshot is the last the turn gives by itself."""
        return self.phase is ReplyPhase.FINAL

    @property
    def can_stop(self) -> bool:
        """Whether a stop button makes sense under it."""
        return self.run_id is not None and self.phase is ReplyPhase.WORKING

    @property
    def can_rate(self) -> bool:
        """Whether people may say if it was any good: a whole answer of the agent, that neither asks back nor broke off."""
        return (
            self.run_id is not None
            and self.is_final
            and any(isinstance(part, Text | Artifact) for part in self.parts)
            and not any(isinstance(part, Clarification | Notice) for part in self.parts)
        )

    @property
    def waits(self) -> bool:
        """Whether it makes sense to offer that the turn be sent now or dropped."""
        return self.run_id is not None and self.phase is ReplyPhase.QUEUED


_ADAPTER: TypeAdapter[Reply] = TypeAdapter(Reply)


def reply_to_json(reply: Reply) -> bytes:
    """The form in which the outbox keeps a reply."""
    return _ADAPTER.dump_json(reply)


def reply_from_json(data: bytes | str) -> Reply:
    """Read back what `reply_to_json` wrote; raises pydantic.ValidationError for anything else."""
    return _ADAPTER.validate_json(data)
