"""`/pair`: let in somebody who was given a code."""

from bridge.dispatch import pairing
from bridge.dispatch.commands.command import Call, Command
from bridge.persistence import people


def _run(call: Call) -> str:
    if not call.argument:
        return _waiting(call)
    admin = f"{call.conversation.key.channel}:{call.event.sender.id}"
    admitted = pairing.admit(call.connection, call.argument, by=admin, now=call.now)
    if admitted is None:
        return "Nobody waits with this code. Codes are good for an hour; `/pair` alone lists those who wait."
    call.effects.deliveries_stored = True
    return f"{admitted.name or 'The person'} (`{admitted.key.person_id}`) may write to me from now on."


def _waiting(call: Call) -> str:
    people.expire(call.connection, now=call.now)
    waiting = people.requests(call.connection)
    if not waiting:
        return "Nobody waits to be let in."
    lines = [f"- `{each.code}` – {each.name or 'somebody'} (`{each.key.person_id}`)" for each in waiting]
    return "Waiting to be let in; `/pair CODE` admits one:\n\n" + "\n".join(lines)


COMMAND = Command("pair", "let somebody in who was given a code", _run, for_admins=True)
