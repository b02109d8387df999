"""What the person is asked: read from the model's call, checked against the limits, in the form a channel draws."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from langchain_core.messages import ToolCall

ASK_CLARIFICATION = "ask_clarification"

ClarificationType = Literal[
    "missing_info", "ambiguous_requirement", "approach_choice", "risk_confirmation", "suggestion"
]
ICONS: Mapping[str, str] = {
    "missing_info": "❓",
    "ambiguous_requirement": "🤔",
    "approach_choice": "🔀",
    "risk_confirmation": "⚠️",
    "suggestion": "💡",
}
NO_QUESTION = "I need one more detail from you before I can go on."
MOST_FIELDS = 16
MOST_OPTIONS = 24
LONGEST_LABEL_CHARS = 200
LARGEST_REQUEST_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class ClarificationOption:
    """One answer to choose; `value` is what the agent is told."""

    id: str
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class ClarificationField:
    """One thing to fill in: free text, or with options a choice of one or several."""

    name: str
    label: str
    options: tuple[ClarificationOption, ...] = ()
    multiple: bool = False
    required: bool = True


@dataclass(frozen=True, slots=True)
class ClarificationRequest:
    """What the person is asked, in the form a channel draws it. `multiple` and `required` are about its options."""

    call_id: str
    question: str
    clarification_type: str
    context: str
    options: tuple[ClarificationOption, ...] = ()
    multiple: bool = False
    required: bool = True
    fields: tuple[ClarificationField, ...] = ()

    @property
    def id(self) -> str:
        """The id of the tool message, the same at every repeat."""
        return f"clarification:{self.call_id}"

    @property
    def icon(self) -> str:
        """The sign of the question's type."""
        return ICONS[self.clarification_type]

    @property
    def input_mode(self) -> str:
        """How the person answers."""
        return "form" if self.fields else "choice_with_other" if self.options else "free_text"

    def text(self) -> str:
        """Write the question for a reader who has only text."""
        lines = [f"{self.icon} {self.context}", ""] if self.context else []
        lines.append(self.question if self.context else f"{self.icon} {self.question}")
        numbered = [option.label for option in self.options] or [_field_line(field) for field in self.fields]
        return "\n".join([*lines, *(f"{number}. {line}" for number, line in enumerate(numbered, start=1))])

    def payload(self) -> dict[str, Any]:
        """Give the `artifact.human_input` of the tool message."""
        body: dict[str, Any] = {
            "version": 2 if self.fields else 1,
            "kind": "human_input_request",
            "source": ASK_CLARIFICATION,
            "request_id": self.id,
            "clarification_type": self.clarification_type,
            "icon": self.icon,
            "question": self.question,
            "context": self.context,
            "input_mode": self.input_mode,
        }
        if self.fields:
            body["fields"] = [_plain(asdict(field)) for field in self.fields]
        else:
            body["options"] = [asdict(option) for option in self.options]
            body |= {"multiple": self.multiple, "required": self.required}
        return body


def clarification_request(call: ToolCall) -> ClarificationRequest:
    """Read a call, whatever the model made of the arguments.

    Options may come as a JSON string, as dicts or twice. A form that breaks a rule or a limit becomes a question to
    answer in free words, with what it asked for in the text.
    """
    args = call["args"]
    request = ClarificationRequest(
        call_id=call["id"] or "",
        question=_text(args.get("question")) or NO_QUESTION,
        clarification_type=_known_type(args.get("clarification_type")),
        context=_text(args.get("context")),
    )
    fields = _fields(args.get("fields"))
    options = () if fields else _options(args.get("options"))
    multiple = bool(options) and args.get("multiple") is True
    required = not multiple or args.get("required") is not False
    drawn = _replaced(request, options=options, multiple=multiple, required=required, fields=fields or ())
    if fields is None or not _within_limits(drawn):
        return _as_free_text(request, args)
    return drawn


def _replaced(request: ClarificationRequest, **changes: Any) -> ClarificationRequest:
    kept = {name: getattr(request, name) for name in ("call_id", "question", "clarification_type", "context")}
    return ClarificationRequest(**{**kept, **changes})


def _as_free_text(request: ClarificationRequest, args: Mapping[str, Any]) -> ClarificationRequest:
    entries = _as_list(args.get("fields")) or _as_list(args.get("options"))
    names = [_entry_text(entry)[:LONGEST_LABEL_CHARS] for entry in entries[: 4 * MOST_OPTIONS]]
    listed = "".join(f"\n- {name}" for name in names if name)
    return _replaced(request, question=(request.question + listed)[: LARGEST_REQUEST_BYTES // 8])


def _within_limits(request: ClarificationRequest) -> bool:
    choices = [request.options, *(field.options for field in request.fields)]
    size = len(json.dumps(request.payload(), ensure_ascii=False).encode())
    return (
        len(request.fields) <= MOST_FIELDS
        and all(len(options) <= MOST_OPTIONS for options in choices)
        and size <= LARGEST_REQUEST_BYTES
    )


def _known_type(value: Any) -> str:
    return value if value in get_args(ClarificationType) else "missing_info"


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return [value]
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value] if value else []


def _options(value: Any) -> tuple[ClarificationOption, ...]:
    unique: dict[str, str] = {}
    for entry in _as_list(value):
        if label := _entry_text(entry):
            told = _text(entry.get("value")) if isinstance(entry, Mapping) else ""
            unique.setdefault(told or label, label)
    return tuple(
        ClarificationOption(id=f"option-{number}", label=_cut(label), value=told)
        for number, (told, label) in enumerate(unique.items(), start=1)
    )


def _entry_text(entry: Any) -> str:
    if isinstance(entry, Mapping):
        named = (_text(entry.get(key)) for key in ("label", "title", "text", "value", "name"))
        return next((text for text in named if text), "")
    return str(entry).strip() if isinstance(entry, str | int | float) else ""


def _fields(value: Any) -> tuple[ClarificationField, ...] | None:
    """Read the fields of a form; None if any of them is not one."""
    entries = _as_list(value)
    fields = [field for field in map(_field, entries) if field is not None]
    distinct = {field.name for field in fields}
    return tuple(fields) if len(distinct) == len(fields) == len(entries) else None


def _field(entry: Any) -> ClarificationField | None:
    if not isinstance(entry, Mapping) or not _text(entry.get("name")):
        return None
    return ClarificationField(
        name=_text(entry["name"]),
        label=_cut(_text(entry.get("label")) or _text(entry["name"])),
        options=_options(entry.get("options")),
        multiple=entry.get("multiple") is True,
        required=entry.get("required") is not False,
    )


def _field_line(field: ClarificationField) -> str:
    choices = f" ({' / '.join(option.label for option in field.options)})" if field.options else ""
    return f"{field.label}{choices}{'' if field.required else ' (optional)'}"


def _cut(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL_CHARS else label[: LONGEST_LABEL_CHARS - 1] + "…"


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    return {**field, "options": list(field["options"])}
