"""`/new`: begin another thread."""

from bridge.conversation_threads import begin_thread
from bridge.dispatch.answers import withdraw
from bridge.dispatch.commands.command import Call, Command
from bridge.persistence import runs
from bridge.runs.manager import stop_all
from bridge.runs.records import CancelAction


def _run(call: Call) -> str:
    old = call.conversation.thread_id
    if old is not None:
        open_runs = runs.open_on(call.connection, old)
        call.effects.to_stop |= stop_all(call.connection, open_runs, CancelAction.INTERRUPT, now=call.now)
        call.effects.threads_changed.add(old)
        withdraw(call.connection, old, call.now, call.effects)
    begin_thread(call.connection, call.conversation, call.assistant_id, now=call.now)
    return "A new conversation begins. What was said before is kept, but no longer read."


COMMAND = Command("new", "begin a new conversation", _run)
