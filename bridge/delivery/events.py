"""What delivery derives from a run's stream: an allow-list by type, so that nothing hidden can reach a person."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from bridge.runs.records import StreamPart
from channels.contract import Artifact, Clarification, Todo

CLARIFICATION: TypeAdapter[Clarification] = TypeAdapter(Clarification)
ARTIFACT: TypeAdapter[Artifact] = TypeAdapter(Artifact)

_OWN_DISPLAY = frozenset(
    {"ask_clarification", "present_files", "write_todos"}
)  # shown as what they are, not as tool calls
_DETAIL_KEYS = ("path", "file_path", "query", "url", "pattern", "description", "command")
_DETAIL_CHARS = 80
_VIRTUAL_ROOT = "/mnt/user-data/"  # says nothing to a person


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """The run begins, or goes on after a crash: the unfinished step is done again."""

    attempt: int


@dataclass(frozen=True, slots=True)
class StepsKept:
    """The run goes on from these messages and tool calls: what was shown beyond them was never stored, and is done again."""

    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class StepRestarted:
    """The model is asked again (a provider's failure): what it had said of this step is void."""


@dataclass(frozen=True, slots=True)
class TurnRestarted:
    """The person has changed the message: everything that was shown of the turn is void."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of one assistant message."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class TextFinished:
    """The whole text of one assistant message, as the thread keeps it."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A message of the model asked for a tool. Providers use a call's id again in later messages."""

    message_id: str
    call_id: str
    name: str
    detail: str

    @property
    def activity_id(self) -> str:
        """What tells this use of the tool from every other one of the run."""
        return _activity_id(self.message_id, self.call_id)


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The tool has answered the newest message that asked for it under this id."""

    call_id: str
    failed: bool


@dataclass(frozen=True, slots=True)
class TodosChanged:
    """The plan as it stands now."""

    todos: tuple[Todo, ...]


@dataclass(frozen=True, slots=True)
class ClarificationAsked:
    """The agent asks the person; the question is stored already."""

    clarification: Clarification


@dataclass(frozen=True, slots=True)
class ArtifactPresented:
    """The agent hands over a file."""

    artifact: Artifact


@dataclass(frozen=True, slots=True)
class Noticed:
    """The house tells the person something about the turn, such as a file that did not come."""

    text: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over. `failure` is what the person is told if it failed; `stopped` says that somebody stopped it."""

    failure: str | None = None
    stopped: bool = False


RunEvent = (
    AttemptStarted
    | StepsKept
    | StepRestarted
    | TurnRestarted
    | TextDelta
    | TextFinished
    | ToolStarted
    | ToolFinished
    | TodosChanged
    | ClarificationAsked
    | ArtifactPresented
    | Noticed
    | RunEnded
)


def derive(part: StreamPart) -> Iterator[RunEvent]:
    """The events a part stands for; parts of subgraphs and of nodes that are not the lead agent's own give none."""
    if part.namespace:
        return
    if part.mode == "messages":
        yield from _from_chunk(*part.data)
    elif part.mode == "updates":
        yield from _from_update(part.data)
    elif part.mode == "custom":
        yield from _from_custom(part.data)
    elif part.mode == "house":
        yield from from_house(part.data)
    elif part.mode == "metadata":
        yield AttemptStarted(part.data["attempt"])


def from_house(data: Mapping[str, Any]) -> Iterator[RunEvent]:
    """What the house itself put into the stream (see `bridge.runs.observer`)."""
    match data["type"]:
        case "clarification":
            yield ClarificationAsked(CLARIFICATION.validate_python(data["clarification"]))
        case "artifact":
            yield ArtifactPresented(ARTIFACT.validate_python(data["artifact"]))
        case "finished":
            yield StepsKept(_ids(data["messages"]))
            yield from from_messages(data["messages"])
        case "notice":
            yield Noticed(data["text"])
        case "restarted":
            yield TurnRestarted()
        case "ended":
            yield RunEnded(data.get("failure"), bool(data.get("stopped")))


def from_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[RunEvent]:
    """What finished messages of the lead agent show."""
    for message in messages:
        if message.get("additional_kwargs", {}).get("hide_from_ui"):
            if message.get("type") == "ai":
                yield TextFinished(message.get("id") or "", "")  # what was streamed of it is taken back
        elif message.get("type") == "ai":
            yield from _from_answer(message)
        elif message.get("type") == "tool" and message.get("name") not in _OWN_DISPLAY:
            yield ToolFinished(message["tool_call_id"], message.get("status") == "error")


def _ids(messages: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    calls = [
        _activity_id(message.get("id") or "", call["id"])
        for message in messages
        for call in message.get("tool_calls") or ()
    ]
    return frozenset([*(message.get("id") or "" for message in messages), *calls])


def _activity_id(message_id: str, call_id: str) -> str:
    return f"{message_id}/{call_id}"


def _from_chunk(message: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[RunEvent]:
    if message.get("type") == "AIMessageChunk" and metadata.get("langgraph_node") == "model" and message.get("id"):
        text = text_of(message.get("content"))
        if text:
            yield TextDelta(message["id"], text)


def _from_update(update: Mapping[str, Any]) -> Iterator[RunEvent]:
    for node, values in update.items():
        if node in {"model", "tools"}:
            for change in values if isinstance(values, list) else [values]:
                yield from from_messages((change or {}).get("messages") or ())
                todos = (change or {}).get("todos")
                if todos is not None:
                    yield TodosChanged(tuple(Todo(item["content"], item["status"]) for item in todos))


def _from_answer(message: Mapping[str, Any]) -> Iterator[RunEvent]:
    text, message_id = text_of(message.get("content")), message.get("id") or ""
    yield TextFinished(message_id, text)
    for call in message.get("tool_calls") or ():
        if call["name"] not in _OWN_DISPLAY:
            yield ToolStarted(message_id, call["id"], call["name"], _detail(call.get("args") or {}))


def _from_custom(data: Any) -> Iterator[RunEvent]:
    if isinstance(data, Mapping) and data.get("type") == "llm_retry":
        yield StepRestarted()


def text_of(content: Any) -> str:
    """The text of a message's content, whichever of its two shapes it has; reasoning and other blocks are not text."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return "".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    return (
        str(block.get("text", "")) if isinstance(block, Mapping) and block.get("type") in {"text", "text_delta"} else ""
    )


def _detail(args: Mapping[str, Any]) -> str:
    """One argument that says what the call is about, cut short; never the whole of them."""
    for key in _DETAIL_KEYS:
        value = args.get(key)
        if isinstance(value, str) and value.strip():
            line = " ".join(value.removeprefix(_VIRTUAL_ROOT).split())
            return line if len(line) <= _DETAIL_CHARS else line[: _DETAIL_CHARS - 1] + "…"
    return ""
