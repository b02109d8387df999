"""`/help`: what one can type."""

from collections.abc import Sequence

from bridge.dispatch.commands.command import Call, Command


def help_command(others: Sequence[Command]) -> Command:
    """The command that lists these and itself."""

    def run(_call: Call) -> str:
        return "Write what you want to know or have done. Commands:\n\n" + "\n".join(
            f"- `/{command.name}` – {command.summary}" for command in (*others, command)
        )

    command = Command("help", "this list", run)
    return command
