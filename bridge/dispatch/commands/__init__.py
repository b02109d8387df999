"""What people can type besides talking: one command a file."""

from bridge.dispatch.commands import assistant, busy, later, model, new, pair, settings, speak, status, stop, usage
from bridge.dispatch.commands.command import Call, Command, first_word
from bridge.dispatch.commands.help import help_command

_OTHERS = (
    new.COMMAND,
    status.COMMAND,
    usage.COMMAND,
    stop.COMMAND,
    busy.COMMAND,
    speak.COMMAND,
    assistant.COMMAND,
    model.LIST,
    model.CHOOSE,
    settings.PLAN,
    settings.SETTINGS,
    pair.COMMAND,
    *later.COMMANDS,
)
COMMANDS = {command.name: command for command in (*_OTHERS, help_command(_OTHERS))}


def recognise(text: str) -> tuple[Command, str] | None:
    """The command a text calls, with its argument; a slash word that is no command is chat."""
    word = first_word(text)
    command = COMMANDS.get(word[0]) if word else None
    return (command, word[1]) if command and word else None


__all__ = ["COMMANDS", "Call", "Command", "recognise"]
