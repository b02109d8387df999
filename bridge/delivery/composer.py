"""(the answer so far, one event) → the answer as it stands now. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from bridge.delivery.events import (
    ArtifactPresented,
    AttemptStarted,
    ClarificationAsked,
    Noticed,
    RunEnded,
    RunEvent,
    StepRestarted,
    StepsKept,
    TextDelta,
    TextFinished,
    TodosChanged,
    ToolFinished,
    ToolStarted,
    TurnRestarted,
)
from channels.contract import (
    ActivityState,
    Artifact,
    Clarification,
    Notice,
    NoticeKind,
    Reply,
    ReplyPart,
    ReplyPhase,
    Text,
    Todos,
    ToolActivity,
)

STOPPED = "Stopped."
DROPPED = "Dropped: this was not answered."


@dataclass(frozen=True, slots=True)
class Composition:
    """A Reply, which of its texts the thread does not keep yet (they vanish when their step is done again), and who asked for which tool.

    `asked` has the activity that the newest message began under each call id: a result names only the id.
    """

    reply: Reply
    unfinished: frozenset[str] = frozenset()
    asked: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def begin(cls, run_id: str) -> "Composition":
        """A turn of which nothing is known yet."""
        return cls(Reply(run_id=run_id, phase=ReplyPhase.WORKING))


def compose(composition: Composition, event: RunEvent) -> Composition:
    """The next state. Every event may come twice: identifiers keep the answer the same."""
    return _RULES[type(event)](composition, event)


def _restart_step(composition: Composition, _event: AttemptStarted | StepRestarted) -> Composition:
    kept = tuple(part for part in composition.reply.parts if not _is_unfinished(part, composition.unfinished))
    return replace(composition, reply=replace(composition.reply, parts=kept), unfinished=frozenset())


def _restart_turn(composition: Composition, _event: TurnRestarted) -> Composition:
    return Composition(replace(composition.reply, parts=()))


def _keep_steps(composition: Composition, event: StepsKept) -> Composition:
    kept = tuple(
        part for part in composition.reply.parts if not isinstance(part, Text | ToolActivity) or part.id in event.ids
    )
    return replace(composition, reply=replace(composition.reply, parts=kept), unfinished=frozenset())


def _add_text(composition: Composition, event: TextDelta) -> Composition:
    before = _text(composition.reply, event.message_id)
    if before is not None and event.message_id not in composition.unfinished:
        return composition  # the thread keeps the whole text already
    text = Text(event.message_id, (before.markdown if before else "") + event.text)
    reply, unfinished = _put(composition.reply, text), composition.unfinished | {event.message_id}
    return replace(composition, reply=reply, unfinished=unfinished)


def _finish_text(composition: Composition, event: TextFinished) -> Composition:
    """The thread's own text wins over what was streamed, also under another id (some providers change it at the end)."""
    if event.message_id in composition.unfinished or not composition.unfinished:
        streamed = composition.reply
    else:
        streamed = _rename(composition.reply, composition.unfinished, event.message_id)
    kept = tuple(
        part
        for part in streamed.parts
        if not (isinstance(part, Text) and part.id in composition.unfinished and part.id != event.message_id)
    )
    reply = replace(streamed, parts=kept)
    text = Text(event.message_id, event.text)
    told = _put(reply, text) if event.text else _without(reply, event.message_id)
    return replace(composition, reply=told, unfinished=frozenset())


def _start_tool(composition: Composition, event: ToolStarted) -> Composition:
    name = event.activity_id
    composition = replace(composition, asked={**composition.asked, event.call_id: name})
    if any(isinstance(part, ToolActivity) and part.id == name for part in composition.reply.parts):
        return composition
    activity = ToolActivity(name, event.name, ActivityState.RUNNING, event.detail)
    return replace(composition, reply=_put(composition.reply, activity))


def _finish_tool(composition: Composition, event: ToolFinished) -> Composition:
    state, name = ActivityState.FAILED if event.failed else ActivityState.DONE, composition.asked.get(event.call_id)
    parts = tuple(
        replace(part, state=state) if isinstance(part, ToolActivity) and part.id == name else part
        for part in composition.reply.parts
    )
    return replace(composition, reply=replace(composition.reply, parts=parts))


def _set_todos(composition: Composition, event: TodosChanged) -> Composition:
    parts = tuple(part for part in composition.reply.parts if not isinstance(part, Todos))
    todos = (Todos(event.todos),) if event.todos else ()
    return replace(composition, reply=replace(composition.reply, parts=(*todos, *parts)))


def _ask(composition: Composition, event: ClarificationAsked) -> Composition:
    return replace(composition, reply=settle(composition.reply, event.clarification, add=True))


def _present(composition: Composition, event: ArtifactPresented) -> Composition:
    return replace(composition, reply=_put(composition.reply, event.artifact))


def _notice(composition: Composition, event: Noticed) -> Composition:
    notice, reply = Notice(NoticeKind.INFO, event.text), composition.reply
    if notice in reply.parts:
        return composition
    return replace(composition, reply=replace(reply, parts=(*reply.parts, notice)))


def _end(composition: Composition, event: RunEnded) -> Composition:
    """Nothing runs any more; a failed or stopped turn says so behind what it had said."""
    parts = tuple(
        replace(part, state=ActivityState.FAILED)
        if isinstance(part, ToolActivity) and part.state is ActivityState.RUNNING
        else part
        for part in composition.reply.parts
    )
    if event.failure is not None:
        parts = (*parts, Notice(NoticeKind.ERROR, event.failure))
    elif event.stopped:
        parts = (*parts, Notice(NoticeKind.STOPPED, STOPPED))
    elif all(isinstance(part, Notice) for part in parts):
        parts = (*parts, Notice(NoticeKind.INFO, "(The agent gave no answer.)"))
    reply = replace(composition.reply, parts=parts, phase=ReplyPhase.FINAL)
    return replace(composition, reply=reply, unfinished=frozenset())


def settle(reply: Reply, clarification: Clarification, *, add: bool = False) -> Reply:
    """The answer with this question as it stands now."""
    if any(isinstance(part, Clarification) and part.token == clarification.token for part in reply.parts):
        parts = tuple(
            clarification if isinstance(part, Clarification) and part.token == clarification.token else part
            for part in reply.parts
        )
        return replace(reply, parts=parts)
    return replace(reply, parts=(*reply.parts, clarification)) if add else reply


def waiting(run_id: str, ahead: int) -> Reply:
    """The answer of a turn that waits behind others."""
    text = "Waiting: one message is answered first." if ahead == 1 else f"Waiting: {ahead} messages are answered first."
    return Reply((Notice(NoticeKind.WAITING, text),), ReplyPhase.QUEUED, run_id)


def asking(run_id: str, messages: int, age: timedelta) -> Reply:
    """The answer of a turn that begins only when the person says so. `age` is that of its first message."""
    what = "this" if messages == 1 else f"these {messages} messages, the first"
    text = f"You wrote {what} {_roughly(age)} ago, while I was away. Shall I still answer?"
    return Reply((Notice(NoticeKind.WAITING, text),), ReplyPhase.QUEUED, run_id)


def _roughly(age: timedelta) -> str:
    for unit, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = int(age.total_seconds() // seconds)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "a moment"


_RULES: Mapping[type, Callable[[Composition, Any], Composition]] = {
    AttemptStarted: _restart_step,
    StepRestarted: _restart_step,
    TurnRestarted: _restart_turn,
    StepsKept: _keep_steps,
    TextDelta: _add_text,
    TextFinished: _finish_text,
    ToolStarted: _start_tool,
    ToolFinished: _finish_tool,
    TodosChanged: _set_todos,
    ClarificationAsked: _ask,
    ArtifactPresented: _present,
    Noticed: _notice,
    RunEnded: _end,
}


def _key(part: ReplyPart) -> tuple[str, str] | None:
    match part:
        case Text(id=name) | ToolActivity(id=name):
            return part.kind, name
        case Artifact(path=name):
            return part.kind, name
        case _:
            return None


def _put(reply: Reply, new: ReplyPart) -> Reply:
    """The reply with this part in the place of its predecessor, or at the end."""
    key = _key(new)
    if any(_key(part) == key for part in reply.parts):
        return replace(reply, parts=tuple(new if _key(part) == key else part for part in reply.parts))
    return replace(reply, parts=(*reply.parts, new))


def _without(reply: Reply, message_id: str) -> Reply:
    return replace(reply, parts=tuple(part for part in reply.parts if _key(part) != ("text", message_id)))


def _text(reply: Reply, message_id: str) -> Text | None:
    return next((part for part in reply.parts if isinstance(part, Text) and part.id == message_id), None)


def _rename(reply: Reply, unfinished: frozenset[str], message_id: str) -> Reply:
    """The last unfinished text takes the id under which the thread keeps it, so that it stays in its place."""
    names = [part.id for part in reply.parts if isinstance(part, Text) and part.id in unfinished]
    parts = tuple(
        replace(part, id=message_id) if isinstance(part, Text) and names and part.id == names[-1] else part
        for part in reply.parts
    )
    return replace(reply, parts=parts)


def _is_unfinished(part: ReplyPart, unfinished: frozenset[str]) -> bool:
    return isinstance(part, Text) and part.id in unfinished
