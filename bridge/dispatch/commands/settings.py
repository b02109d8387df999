"""`/settings` and `/plan`: what can be switched for one conversation."""

from bridge.dispatch.commands.choice import is_reset, switch
from bridge.dispatch.commands.command import Call, Command

_SWITCHES = {
    "thinking": "the model thinks before it answers, if it can",
    "plan": "the agent makes a plan and keeps it",
    "subagents": "the agent may hand work to others",
    "streaming": "the answer grows while it is written",
}


def _settings(call: Call) -> str:
    name, _, word = call.argument.lower().partition(" ")
    if not name:
        return _overview(call)
    if name not in _SWITCHES:
        return f"I do not know {name!r}. It can be {', '.join(_SWITCHES)}: `/settings {next(iter(_SWITCHES))} on`."
    return _switch(call, name, word.strip())


def _plan(call: Call) -> str:
    return _switch(call, "plan", call.argument.lower())


def _switch(call: Call, name: str, word: str) -> str:
    if is_reset(word):
        call.choose(name, None)
        return f"{name}: as configured."
    value = switch(word)
    if value is None:
        return f"{name} is {_shown(getattr(call.settings, name))}. Say `on`, `off` or `default` behind it."
    call.choose(name, value)
    return f"{name}: {_shown(value)} from now on, in this conversation."


def _overview(call: Call) -> str:
    lines = [f"- `{name}` {_shown(getattr(call.settings, name))} – {meaning}" for name, meaning in _SWITCHES.items()]
    return "For this conversation; `/settings NAME on`, `off` or `default` changes it:\n\n" + "\n".join(lines)


def _shown(value: bool | None) -> str:
    return "as configured" if value is None else "on" if value else "off"


SETTINGS = Command("settings", "what is switched on here, and how to change it", _settings)
PLAN = Command("plan", "make a plan first: /plan on, /plan off", _plan)
