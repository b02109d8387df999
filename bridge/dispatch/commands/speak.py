"""`/speak`: when the bot answers in a group."""

from bridge.dispatch.commands.choice import AS_CONFIGURED, is_reset
from bridge.dispatch.commands.command import Call, Command
from channels.contract import ChatKind, Speaks

_MEANINGS = {
    Speaks.MENTION: "when I am mentioned or replied to, and in topics I take part in",
    Speaks.ALWAYS: "whatever is written",
    Speaks.NEVER: "not at all, but for commands",
}


def _run(call: Call) -> str:
    if call.conversation.chat_kind is ChatKind.PRIVATE:
        return "In a private chat I answer whatever is written."
    word = call.argument.lower()
    if word and not is_reset(word) and word not in _MEANINGS:
        return f"I do not know {call.argument!r}. It can be {', '.join(_MEANINGS)}, or {AS_CONFIGURED}."
    if word:
        call.choose("speaks", None if is_reset(word) else Speaks(word))
    policy = Speaks(word) if word in _MEANINGS else call.section.speaks if word else _current(call)
    return f"I answer here {_MEANINGS[policy]}. `/speak mention`, `/speak always` and `/speak never` change it."


def _current(call: Call) -> Speaks:
    return call.settings.speaks or call.section.speaks


COMMAND = Command("speak", "when I answer in a group", _run)
