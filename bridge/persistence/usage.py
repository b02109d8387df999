"""What runs took, on their rows: tokens by model, and time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, bindparam, select

from bridge.persistence.tables import runs as t
from bridge.runs.records import ModelUsage, RunUsage


def usage_values(usage: Mapping[str, ModelUsage]) -> Mapping[str, Any]:
    """The columns of a run whose calls took this, by model."""
    whole = sum(usage.values(), start=ModelUsage())
    told = whole.counted > 0
    return {
        "total_input_tokens": whole.input_tokens if told else None,
        "total_output_tokens": whole.output_tokens if told else None,
        "total_tokens": whole.input_tokens + whole.output_tokens if told else None,
        "llm_call_count": whole.calls,
        "token_usage_by_model": {model: asdict(used) for model, used in usage.items()},
    }


def of_thread(connection: Connection, thread_id: str) -> Sequence[RunUsage]:
    """What each run of the thread that has begun and ended took, newest first."""
    return [_usage(row) for row in connection.execute(_USAGE, {"thread": thread_id})]


def _usage(row: Any) -> RunUsage:
    stored = row.token_usage_by_model or {}
    try:
        by_model = {model: ModelUsage(**used) for model, used in stored.items()}
    except TypeError:  # another version's: its calls count, but nothing is known of them
        by_model = {"model": ModelUsage(calls=row.llm_call_count)}
    return RunUsage(by_model, row.ended_at - row.started_at)


_USAGE = (
    select(t.c.token_usage_by_model, t.c.llm_call_count, t.c.started_at, t.c.ended_at)
    .where(t.c.thread_id == bindparam("thread"), t.c.started_at.is_not(None), t.c.ended_at.is_not(None))
    .order_by(t.c.id.desc())
)
