"""`/pair`: let in somebody who was given a code."""

from bridge.dispatch import pairing
from bridge.dispatch.commands.command import Call, Command
from bridge.persistence import people
from bridge.persistence.people import Pairing


def _run(call: Call) -> str:
    if not call.argument:
        return _waiting(call)
    admin = f"{call.conversation.key.channel}:{call.event.sender.id}"
    asked = pairing.pending(call.connection, call.argument, call.now)
    admitted = asked and _is_here(call, asked) and pairing.admit(call.connection, asked.code, by=admin, now=call.now)
    if not admitted:
        return "Nobody waits with this code. Codes are good for an hour; `/pair` alone lists those who wait."
    call.effects.deliveries_stored = True
    return f"{admitted.name or 'The person'} (`{admitted.key.person_id}`) may write to me from now on."


def _is_here(call: Call, request: Pairing) -> bool:
    """An admin of one bot lets nobody in to another."""
    here = call.conversation.key
    return (request.key.channel, request.key.account) == (here.channel, here.account)


def _waiting(call: Call) -> str:
    people.expire(call.connection, now=call.now)
    waiting = [request for request in people.requests(call.connection) if _is_here(call, request)]
    if not waiting:
        return "Nobody waits to be let in."
    lines = [f"- `{each.code}` – {each.name or 'somebody'} (`{each.key.person_id}`)" for each in waiting]
    return "Waiting to be let in; `/pair CODE` admits one:\n\n" + "\n".join(lines)


COMMAND = Command("pair", "let somebody in who was given a code", _run, for_admins=True)
