"""What a run asks of the agent, in the agent's words."""

from collections.abc import Mapping
from typing import Any

from langgraph.types import Command, Send

from agent import RunContext, RunRequest
from bridge.persistence.database import Database
from bridge.runs.records import RunRecord
from bridge.runs.steering import Steering, as_messages

_CONTEXT_KEYS = frozenset({"model_name", "thinking_enabled", "is_plan_mode", "subagent_enabled"})


def begin(run: RunRecord, database: Database, given: Mapping[str, Any] | None) -> RunRequest:
    """Begin the run with this input. A command leaves no room for messages: then they reach the model before its next call."""
    if run.spec.command is not None:
        return _request(run, database, command=_command(run.spec.command), told=given)
    return _request(run, database, messages=given)


def go_on(run: RunRecord, database: Database) -> RunRequest:
    """Go on from the last finished step; what was told beside a command is told again, since that step may have been before it."""
    return _request(run, database, told=run.spec.input if run.spec.command is not None else None)


def _request(
    run: RunRecord,
    database: Database,
    *,
    messages: Mapping[str, Any] | None = None,
    command: Command[Any] | None = None,
    told: Mapping[str, Any] | None = None,
) -> RunRequest:
    spec = run.spec
    known = {key: value for key, value in spec.context.items() if key in _CONTEXT_KEYS and value is not None}
    context = RunContext(
        thread_id=run.thread_id,
        run_id=run.run_id,
        user_id=run.user_id,
        steering=Steering(database, run.run_id, as_messages(told)),
        extra={key: value for key, value in spec.context.items() if key not in _CONTEXT_KEYS},
        **known,
    )
    return RunRequest(
        context=context,
        fence=run.fence,
        assistant_id=run.assistant_id,
        input=messages,
        command=command,
        config=spec.config,
        checkpoint_id=spec.checkpoint_id if messages is not None or command is not None else None,
        interrupt_before=spec.interrupt_before,
        interrupt_after=spec.interrupt_after,
        durability=spec.durability,
    )


def _command(fields: Mapping[str, Any]) -> Command[Any]:
    """The command a client wrote as JSON; a `Send` comes as {"node", "input"}."""
    goto = fields.get("goto")
    targets = [
        Send(target["node"], target.get("input")) if isinstance(target, Mapping) else target
        for target in (goto if isinstance(goto, list) else [goto] if goto else [])
    ]
    return Command(**{**fields, "goto": targets} if targets else fields)
