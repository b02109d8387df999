"""Commands whose feature this version does not have; they say so."""

from bridge.dispatch.commands.command import Call, Command


def _not_yet(name: str, what: str) -> Command:
    def run(_call: Call) -> str:
        return f"This version has no {what} yet, so `/{name}` does nothing."

    return Command(name, f"{what} (not in this version)", run, is_shown=False)


COMMANDS = (
    _not_yet("memory", "memory"),
    _not_yet("skills", "skills"),
    _not_yet("goal", "goals"),
    _not_yet("bootstrap", "set-up by conversation"),
)
