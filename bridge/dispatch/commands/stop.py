"""`/stop`: end what runs here, and what waits behind it; or take back the question that waits."""

from bridge.dispatch.answers import withdraw
from bridge.dispatch.commands.command import Call, Command
from bridge.persistence import runs
from bridge.runs.manager import stop_all
from bridge.runs.records import CancelAction, RunStatus

_STOP_WORDS = {"stop", "halt", "abort", "cancel", "stopp", "para", "arrête", "стоп", "停", "停止"}


def is_stop_word(text: str) -> bool:
    """Whether the text is a lone word that means `/stop` to whoever is being answered; what is more than a word is chat."""
    return text.strip(" \n.!…。！").casefold() in _STOP_WORDS


def _run(call: Call) -> str:
    thread_id = call.conversation.thread_id
    open_runs = runs.open_on(call.connection, thread_id) if thread_id else ()
    if thread_id is None or not open_runs:
        withdrawn = withdraw(call.connection, thread_id, call.now, call.effects) if thread_id else 0
        return "The question was withdrawn." if withdrawn else "Nothing is running."
    call.effects.to_stop |= stop_all(call.connection, open_runs, CancelAction.INTERRUPT, now=call.now)
    call.effects.threads_changed.add(thread_id)
    waiting = sum(run.status is RunStatus.PENDING for run in open_runs)
    if not waiting:
        return "Stopped."
    return (
        "Stopped, and one waiting message was dropped."
        if waiting == 1
        else f"Stopped, and {waiting} waiting messages were dropped."
    )


COMMAND = Command("stop", "stop the answer that is being written, and those that wait", _run)
