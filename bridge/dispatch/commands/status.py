"""`/status`: how the conversation stands."""

from bridge.dispatch.commands.command import Call, Command
from bridge.persistence import clarifications, runs, threads
from bridge.runs.records import RunStatus


def _run(call: Call) -> str:
    thread_id = call.conversation.thread_id
    thread = threads.find(call.connection, thread_id) if thread_id else None
    if thread is None:
        return "No conversation yet: just write something."
    open_runs = runs.open_on(call.connection, thread.thread_id)
    running = any(run.status is RunStatus.RUNNING for run in open_runs)
    waiting = sum(run.status is RunStatus.PENDING for run in open_runs)
    lines = [
        f"**{thread.title or 'Conversation'}**",
        "- an answer is being written" if running else "- nothing is running",
        f"- waiting: {waiting}",
        f"- thread `{thread.thread_id}`",
    ]
    for record in clarifications.open_on(call.connection, thread.thread_id)[:1]:
        lines.insert(2, f"- the agent waits for an answer: {record.clarification.question}")
    return "\n".join(lines)


COMMAND = Command("status", "what runs and what waits", _run)
