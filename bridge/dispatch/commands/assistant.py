"""`/assistant`: which assistant answers in this conversation."""

from bridge.dispatch.commands.choice import is_reset
from bridge.dispatch.commands.command import Call, Command


def _run(call: Call) -> str:
    wanted = call.argument.lower()
    if not wanted:
        return _list(call)
    if is_reset(wanted):
        call.choose("assistant", None)
        return "The usual assistant answers here from now on."
    known = next((each for each in call.assistants if wanted in {each.assistant_id.lower(), each.name.lower()}), None)
    if known is None:
        return f"No assistant is called {call.argument!r}. `/assistant` shows those there are."
    call.choose("assistant", known.assistant_id)
    return f"{known.name} (`{known.assistant_id}`) answers here from now on."


def _list(call: Call) -> str:
    lines = []
    for assistant in call.assistants:
        about = f" – {assistant.description}" if assistant.description else ""
        now = " **(now)**" if assistant.assistant_id == call.assistant_id else ""
        lines.append(f"- `{assistant.assistant_id}` {assistant.name}{about}{now}")
    return "Assistants; `/assistant NAME` chooses one for this conversation:\n\n" + "\n".join(lines)


COMMAND = Command("assistant", "which assistant answers here, or another one: /assistant NAME", _run)
