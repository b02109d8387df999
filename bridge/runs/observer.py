"""What the house notices in a run's stream: questions, files handed over, the title; stored before it is shown."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.types import Interrupt

from agent.clarification import ASK_CLARIFICATION, clarification_request
from bridge.clock import Clock
from bridge.delivery.events import ARTIFACT, CLARIFICATION
from bridge.errors import NotFound
from bridge.files.artifacts import Artifacts
from bridge.persistence import clarifications
from bridge.persistence.clarifications import AskedBy, ClarificationRecord
from bridge.persistence.database import Database
from bridge.runs.records import RunRecord
from bridge.runs.usage import UsageMeter
from channels.contract import Artifact, Clarification, FormField, Option

_TOKEN_BYTES = 9  # 12 characters: fits the 64 bytes of a Telegram button with room to spare


class Observer:
    """Watches one run."""

    def __init__(
        self,
        run: RunRecord,
        asked_of: str,
        database: Database,
        artifacts: Artifacts,
        clock: Clock,
        *,
        expiry_seconds: float,
    ) -> None:
        self._run = run
        self.asked_of = asked_of
        self._database = database
        self._artifacts = artifacts
        self._clock = clock
        self._expiry = timedelta(seconds=expiry_seconds)
        self.title: str | None = None
        self.interrupted = False
        self.seen_ids: set[str] = set()
        self.usage = UsageMeter()

    async def notice(self, update: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What the house adds to the stream behind this update of the graph (mode `updates`)."""
        notes: list[dict[str, Any]] = []
        for node, values in update.items():
            if node == "__interrupt__":
                self.interrupted = True
                notes += [await self._interrupt(interrupt) for interrupt in values]
            else:
                for change in values if isinstance(values, list) else [values]:
                    notes += await self._changes(change or {})
        return notes

    async def messages(self, messages: Sequence[Any]) -> list[dict[str, Any]]:
        """What the house adds for these messages of the lead agent."""
        notes: list[dict[str, Any]] = []
        for message in messages:
            if isinstance(message, BaseMessage) and message.id:
                self.seen_ids.add(message.id)
            if isinstance(message, AIMessage):
                self.usage.note(message)
            if isinstance(message, ToolMessage) and isinstance(message.artifact, Mapping):
                notes += await self._tool_result(message, message.artifact)
        return notes

    async def _changes(self, change: Any) -> list[dict[str, Any]]:
        if not isinstance(change, Mapping):
            return []
        self.title = change.get("title") or self.title
        messages = change.get("messages") or ()
        return await self.messages(messages if isinstance(messages, list | tuple) else [messages])

    async def _tool_result(self, message: ToolMessage, artifact: Mapping[str, Any]) -> list[dict[str, Any]]:
        if message.name == "ask_clarification" and "human_input" in artifact:
            question = _question(artifact["human_input"])
            return [await self._store(question, message.tool_call_id, AskedBy.QUESTION)]
        if message.name == "present_files":
            return [note for path in artifact.get("presented_files", ()) if (note := await self._file(path))]
        return []

    async def _interrupt(self, interrupt: Interrupt) -> dict[str, Any]:
        return await self._store(_from_interrupt(interrupt), interrupt.id, AskedBy.INTERRUPT)

    async def _store(self, question: Clarification, call_id: str, asked_by: AskedBy) -> dict[str, Any]:
        record = ClarificationRecord(question, self._run.run_id, call_id, self._run.thread_id, asked_by, self.asked_of)
        now = self._clock()
        expiring = _with_expiry(record, now + self._expiry)
        stored = await self._database.write(lambda connection: clarifications.ensure(connection, expiring, now=now))
        return {"type": "clarification", "clarification": CLARIFICATION.dump_python(stored, mode="json")}

    async def _file(self, path: str) -> dict[str, Any] | None:
        try:
            opened = await self._artifacts.open(self._run.thread_id, path)
        except NotFound:
            return None
        artifact = Artifact(path, opened.name, opened.mime_type, opened.size_bytes)
        return {"type": "artifact", "artifact": ARTIFACT.dump_python(artifact, mode="json")}


def _with_expiry(record: ClarificationRecord, expires_at: datetime) -> ClarificationRecord:
    return replace(record, clarification=replace(record.clarification, expires_at=expires_at))


def _question(request: Mapping[str, Any]) -> Clarification:
    """The agent's request (`artifact.human_input`) in the words of the contract."""
    return Clarification(
        token=secrets.token_urlsafe(_TOKEN_BYTES),
        question=request["question"],
        icon=request.get("icon") or "❓",
        context=request.get("context") or "",
        options=_options(request.get("options")),
        multiple=bool(request.get("multiple")),
        required=bool(request.get("required", True)),
        fields=tuple(
            FormField(
                field["name"],
                field["label"],
                _options(field.get("options")),
                bool(field.get("multiple")),
                bool(field.get("required", True)),
            )
            for field in request.get("fields") or ()
        ),
    )


def _from_interrupt(interrupt: Interrupt) -> Clarification:
    """A graph's own `interrupt(value)`: a text, or what `ask_clarification` takes; anything else is shown as it is."""
    value = interrupt.value
    known = value if isinstance(value, Mapping) else {}
    if isinstance(nested := known.get("human_input"), Mapping):
        known = nested
    question = known.get("question") or known.get("message") or known.get("description") or (value or "Go on?")
    args = {**known, "question": str(question)}
    request = clarification_request(ToolCall(name=ASK_CLARIFICATION, args=args, id=interrupt.id, type="tool_call"))
    return replace(_question(request.payload()), icon=request.icon if known.get("clarification_type") else "⏸️")


def _options(options: Any) -> tuple[Option, ...]:
    return tuple(Option(option["label"], option["value"]) for option in options or ())
