"""`/help`: what one can type."""

from collections.abc import Sequence

from bridge.dispatch.commands.command import Call, Command


def help_command(others: Sequence[Command]) -> Command:
    """The command that lists these and itself."""

    def run(call: Call) -> str:
        return "Write what you want to know or have done. Commands:\n\n" + "\n".join(
            f"- `/{each.name}` – {each.summary}" for each in (*others, command) if each.is_shown and each.is_for(call)
        )

    command = Command("help", "this list", run)
    return command
