"""Rules about messages that everybody shares: hiding, escaping, stripping calls, pairing calls with results."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

HIDDEN = "hide_from_ui"
ORIGINAL_CONTENT = "original_user_content"
FILES = "files"
HUMAN_INPUT_RESPONSE = "human_input_response"
CALL_BLOCK_TYPES = frozenset({"tool_use", "tool_call", "function_call", "tool_call_chunk", "input_json_delta"})
RAW_CALL_KEYS = ("tool_calls", "function_call")

UNKNOWN_TOOL = "unknown_tool"
LONGEST_DETAIL_CHARS = 500
INTERRUPTED = "This call was interrupted before it gave a result. Call the tool again if the result is still needed."
UNREADABLE = "The arguments of this call could not be read ({detail}). Call the tool again with valid JSON arguments."

MessageT = TypeVar("MessageT", bound=BaseMessage)


def mark_hidden(message: MessageT) -> MessageT:
    """Give a copy that no person is shown."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, HIDDEN: True}})


def is_hidden(message: BaseMessage) -> bool:
    """Say whether a message is for the model only."""
    return bool(message.additional_kwargs.get(HIDDEN))


def escape_markup(text: str) -> str:
    """Make text safe inside a tagged block, so that it cannot close the tag."""
    return html.escape(text, quote=False)


def typed_text(message: BaseMessage) -> str:
    """What the person typed, without the blocks the agent put before it."""
    original = message.additional_kwargs.get(ORIGINAL_CONTENT)
    return original if isinstance(original, str) else str(message.text)


def is_from_person(message: BaseMessage) -> bool:
    """Say whether a person wrote this: a visible message, or a hidden one that answers a clarification."""
    answers = HUMAN_INPUT_RESPONSE in message.additional_kwargs
    return isinstance(message, HumanMessage) and (answers or not is_hidden(message))


def current_question(messages: Sequence[AnyMessage]) -> HumanMessage | None:
    """The newest message a person wrote."""
    return next((m for m in reversed(messages) if isinstance(m, HumanMessage) and is_from_person(m)), None)


def keep_tool_calls(message: AIMessage, kept_ids: Collection[str]) -> AIMessage:
    """Take every other tool call out of an answer, also where the provider repeats it in its own form.

    With no call left the finish reason becomes `stop`: the answer no longer waits for a tool.
    """
    kept_calls = [call for call in message.tool_calls if call["id"] in kept_ids]
    raw = {key: value for key, value in message.additional_kwargs.items() if key not in RAW_CALL_KEYS}
    update: dict[str, Any] = {
        "tool_calls": kept_calls,
        "invalid_tool_calls": [],
        "additional_kwargs": raw,
        "content": _without_call_blocks(message.content, kept_ids),
    }
    if hasattr(message, "tool_call_chunks"):
        update["tool_call_chunks"] = [chunk for chunk in message.tool_call_chunks if chunk["id"] in kept_ids]
    if not kept_calls:
        update["response_metadata"] = _stopped(message.response_metadata)
    return message.model_copy(update=update)


def _without_call_blocks(content: str | list[Any], kept_ids: Collection[str]) -> str | list[Any]:
    if isinstance(content, str):
        return content
    return [block for block in content if not _is_call_block(block) or _call_id(block) in kept_ids]


def _is_call_block(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in CALL_BLOCK_TYPES


def _call_id(block: dict[str, Any]) -> str | None:
    return block.get("call_id") or block.get("id")


def _stopped(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: "stop" if key in {"finish_reason", "stop_reason"} else value for key, value in metadata.items()}


@dataclass(slots=True)
class _Slot:
    """One call of an assistant message, and the result found for it."""

    wanted_id: str
    call: ToolCall
    unreadable: str | None = None
    result: ToolMessage | None = None

    def answer(self) -> ToolMessage:
        name, call_id = self.call["name"], self.call["id"]
        if self.result is None:
            text = INTERRUPTED if self.unreadable is None else UNREADABLE.format(detail=self.unreadable)
            return ToolMessage(text, name=name, tool_call_id=call_id, status="error")
        if self.result.tool_call_id == call_id:
            return self.result
        return self.result.model_copy(update={"tool_call_id": call_id})


def repair_pairing(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Give the same conversation in a form every provider accepts.

    Each result stands directly behind the message that asked; an unanswered call gets an error result; a result
    nobody asked for is left out, as is an assistant message that says and asks nothing; names, ids and arguments that
    are missing or unreadable are replaced. An id used again in a later turn belongs to the nearest turn before it.
    """
    asked: dict[int, list[_Slot]] = {}
    taken: set[str] = set()
    for position, message in enumerate(messages):
        if isinstance(message, AIMessage):
            asked[position] = list(_slots(message, position, taken))
        elif isinstance(message, ToolMessage):
            _give_to_asker(message, asked)
    return list(_in_order(messages, asked))


def _slots(message: AIMessage, position: int, taken: set[str]) -> Iterator[_Slot]:
    taken_here: set[str] = set()
    invalid = [(call, _detail(call.get("error"))) for call in message.invalid_tool_calls]
    valid: list[tuple[Any, str | None]] = [(call, None) for call in message.tool_calls]
    for number, (call, unreadable) in enumerate([*valid, *invalid]):
        wanted_id = call.get("id") or ""
        call_id = wanted_id
        if not call_id or call_id in taken_here:
            call_id = f"call_{position}_{number}"
            while call_id in taken:
                call_id += "_"
        taken_here.add(call_id)
        taken.add(call_id)
        arguments = call.get("args") if unreadable is None else {}
        name = call.get("name") or UNKNOWN_TOOL
        yield _Slot(wanted_id, ToolCall(name=name, args=arguments or {}, id=call_id, type="tool_call"), unreadable)


def _detail(error: str | None) -> str:
    return (error or "malformed or cut off")[:LONGEST_DETAIL_CHARS]


def _give_to_asker(result: ToolMessage, asked: dict[int, list[_Slot]]) -> None:
    for slots in reversed(asked.values()):
        fitting = [slot for slot in slots if slot.wanted_id == result.tool_call_id]
        open_slots = [slot for slot in fitting if slot.result is None]
        if open_slots:
            same_name = [slot for slot in open_slots if slot.call["name"] == result.name]
            (same_name or open_slots)[0].result = result
        if fitting:
            return


def _in_order(messages: Sequence[AnyMessage], asked: dict[int, list[_Slot]]) -> Iterator[AnyMessage]:
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            continue
        if not isinstance(message, AIMessage):
            yield message
            continue
        slots = asked[position]
        repaired = _with_calls(message, slots)
        if slots or repaired.content:
            yield repaired
        yield from (slot.answer() for slot in slots)


def _with_calls(message: AIMessage, slots: list[_Slot]) -> AIMessage:
    calls = [slot.call for slot in slots]
    raw = message.additional_kwargs.keys() & set(RAW_CALL_KEYS)
    if calls == message.tool_calls and not message.invalid_tool_calls and not raw:
        return message
    kept = {key: value for key, value in message.additional_kwargs.items() if key not in raw}
    update = {"tool_calls": calls, "invalid_tool_calls": [], "additional_kwargs": kept}
    if calls != message.tool_calls and isinstance(message.content, list):
        update["content"] = [
            b for b in message.content if not (isinstance(b, dict) and b.get("type") in CALL_BLOCK_TYPES)
        ]
    return message.model_copy(update=update)
