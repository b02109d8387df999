"""`/busy`: what a message does that comes while the agent works."""

from bridge.dispatch.commands.choice import AS_CONFIGURED, is_reset
from bridge.dispatch.commands.command import Call, Command
from channels.contract import BusyPolicy

_MEANINGS = {
    BusyPolicy.QUEUE: "it waits and is answered next",
    BusyPolicy.STEER: "the agent is told before its next step",
    BusyPolicy.INTERRUPT: "the agent stops and answers it now",
    BusyPolicy.COLLECT: "it waits, and all that wait are answered together",
}


def _run(call: Call) -> str:
    word = call.argument.lower()
    if not word:
        return _overview(call)
    if is_reset(word):
        call.choose("busy", None)
        return f"A message that comes while I work: {_MEANINGS[call.section.busy]}."
    if word not in _MEANINGS:
        return f"I do not know {call.argument!r}. It can be {', '.join(_MEANINGS)}, or {AS_CONFIGURED}."
    policy = BusyPolicy(word)
    call.choose("busy", policy)
    return f"From now on here: a message that comes while I work, {_MEANINGS[policy]}."


def _overview(call: Call) -> str:
    current = call.settings.busy or call.section.busy
    lines = [
        f"- `/busy {policy}` – {meaning}{' **(now)**' if policy is current else ''}"
        for policy, meaning in _MEANINGS.items()
    ]
    return "What a message does that comes while I work:\n\n" + "\n".join(lines)


COMMAND = Command("busy", "what a message does that comes while I work", _run)
