"""Runs, threads and states in the form LangGraph's clients know."""

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.types import Interrupt, PregelTask, StateSnapshot

from bridge.persistence.threads import ThreadRecord
from bridge.runs.records import RunRecord


def run_json(run: RunRecord) -> dict[str, Any]:
    """The SDK's `Run`; `kwargs` holds what it was asked to do."""
    spec = run.spec
    return {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "assistant_id": run.assistant_id,
        "status": run.status,
        "metadata": run.metadata,
        "multitask_strategy": run.multitask,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "kwargs": {
            "input": spec.input,
            "command": spec.command,
            "config": spec.config,
            "context": spec.context,
            "stream_mode": spec.stream_modes,
            "stream_subgraphs": spec.stream_subgraphs,
            "checkpoint_id": spec.checkpoint_id,
            "interrupt_before": spec.interrupt_before,
            "interrupt_after": spec.interrupt_after,
            "durability": spec.durability,
        },
    }


def thread_json(thread: ThreadRecord, state: StateSnapshot | None = None) -> dict[str, Any]:
    """The SDK's `Thread`, with the values and the open interrupts of its newest state."""
    tasks = state.tasks if state else ()
    return {
        "thread_id": thread.thread_id,
        "status": thread.status,
        "metadata": thread.metadata,
        "created_at": thread.created_at,
        "updated_at": thread.updated_at,
        "values": visible_values(state.values) if state else {},
        "interrupts": {task.id: interrupts_json(task.interrupts) for task in tasks if task.interrupts},
    }


def state_json(thread_id: str, state: StateSnapshot) -> dict[str, Any]:
    """The SDK's `ThreadState`."""
    return {
        "values": visible_values(state.values),
        "next": state.next,
        "checkpoint": _checkpoint(thread_id, state.config),
        "parent_checkpoint": _checkpoint(thread_id, state.parent_config) if state.parent_config else None,
        "metadata": state.metadata or {},
        "created_at": state.created_at,
        "tasks": [_task_json(thread_id, task) for task in state.tasks],
        "interrupts": interrupts_json(state.interrupts),
    }


def interrupts_json(interrupts: Iterable[Interrupt[Any]]) -> list[dict[str, Any]]:
    """The SDK's `Interrupt`, each with the schema of its answer where the graph gave one."""
    return [
        {"value": one.value, "id": one.id}
        | ({"response_schema": one.response_schema} if isinstance(one.response_schema, dict) else {})
        for one in interrupts
    ]


def visible_values(values: Any) -> dict[str, Any]:
    """A state's values without what LangGraph keeps there for itself."""
    if not isinstance(values, Mapping):
        return {}
    return {key: value for key, value in values.items() if not str(key).startswith("__pregel_")}


def _checkpoint(thread_id: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The SDK's `Checkpoint`; a subgraph that has not been asked for is named by its namespace alone."""
    place = config.get("configurable", {})
    return {
        "thread_id": thread_id,
        "checkpoint_ns": place.get("checkpoint_ns", ""),
        "checkpoint_id": place.get("checkpoint_id"),
        "checkpoint_map": place.get("checkpoint_map"),
    }


def _task_json(thread_id: str, task: PregelTask) -> dict[str, Any]:
    nested = task.state
    return {
        "id": task.id,
        "name": task.name,
        "error": None if task.error is None else str(task.error),
        "interrupts": interrupts_json(task.interrupts),
        "checkpoint": _checkpoint(thread_id, nested) if isinstance(nested, dict) else None,
        "state": state_json(thread_id, nested) if isinstance(nested, StateSnapshot) else None,
        "result": task.result,
    }
