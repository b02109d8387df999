"""`/models` and `/model`: which models there are, and which one answers here."""

from bridge.dispatch.commands.choice import is_reset
from bridge.dispatch.commands.command import Call, Command


def _list(call: Call) -> str:
    current = _current(call)
    lines = []
    for model in call.models:
        shown = f" {model.display_name}" if model.display_name != model.name else ""
        about = f" – {model.description}" if model.description else ""
        lines.append(f"- `{model.name}`{shown}{about}{' **(now)**' if model.name == current else ''}")
    return "Models; `/model NAME` chooses one for this conversation:\n\n" + "\n".join(lines)


def _choose(call: Call) -> str:
    if not call.argument:
        return f"`{_current(call)}` answers here. `/models` shows which others could."
    if is_reset(call.argument.lower()):
        call.choose("model", None)
        return f"`{call.models[0].name}` answers here from now on."
    known = next((model for model in call.models if model.name.lower() == call.argument.lower()), None)
    if known is None:
        return f"No model is called {call.argument!r}. `/models` shows those there are."
    call.choose("model", known.name)
    return f"{known.display_name} (`{known.name}`) answers here from now on."


def _current(call: Call) -> str:
    """A choice of a model that is no longer configured counts as none, as it does for the run."""
    chosen = call.settings.model
    return next((model.name for model in call.models if model.name == chosen), call.models[0].name)


LIST = Command("models", "which models there are", _list)
CHOOSE = Command("model", "which model answers here, or another one: /model NAME", _choose)
