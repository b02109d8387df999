"""What strict providers refuse in a conversation, so that a sloppy history fails here first."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_INSTRUCTIONS = {"system", "developer"}
_ROLES = _INSTRUCTIONS | {"user", "assistant", "tool"}
_PARTS = {"text", "image_url", "input_audio", "file", "refusal"}


class BrokenRule(Exception):
    """The request would be refused by at least one large provider; the message says why."""


def check_request(body: Mapping[str, Any], reused_call_ids: frozenset[str]) -> None:
    """Raises `BrokenRule`. `reused_call_ids`: ids which the script gave out more than once on purpose."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BrokenRule("messages must be a non-empty list")
    for message in messages:
        _check_message(message)
    _check_order(messages)
    _check_pairing(messages, reused_call_ids)
    _check_tools(body.get("tools", []))


def _check_message(message: Message) -> None:
    role = message.get("role")
    if role not in _ROLES:
        raise BrokenRule(f"unknown role {role!r}")
    content = message.get("content")
    if isinstance(content, list):
        _check_parts(content)
    elif content is not None and not isinstance(content, str):
        raise BrokenRule(f"content of a {role} message must be a string or a list of parts")
    if role == "assistant" and not content and not message.get("tool_calls"):
        raise BrokenRule("an assistant message needs content or tool calls")
    if role in {"user", "system", "developer"} and not content:
        raise BrokenRule(f"a {role} message must not be empty")
    if role == "tool" and not isinstance(content, str | list):
        raise BrokenRule("a tool message needs content")


def _check_parts(parts: Sequence[Any]) -> None:
    for part in parts:
        if not isinstance(part, dict) or part.get("type") not in _PARTS:
            raise BrokenRule(f"unknown content part {part!r:.100}")
        if part["type"] == "text" and not part.get("text"):
            raise BrokenRule("text content parts must not be empty")


def _check_order(messages: Sequence[Message]) -> None:
    roles = [message["role"] for message in messages]
    begin = next((index for index, role in enumerate(roles) if role not in _INSTRUCTIONS), None)
    if begin is None or roles[begin] != "user":
        raise BrokenRule("the first message after the instructions must be a user's")
    if _INSTRUCTIONS & set(roles[begin:]):
        raise BrokenRule("a system message must come first")


def _check_pairing(messages: Sequence[Message], reused_call_ids: frozenset[str]) -> None:
    seen: set[str] = set()
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            _answer(message, waiting)
            continue
        if waiting:
            raise BrokenRule(f"tool calls without a result right after them: {sorted(waiting)}")
        for call in message.get("tool_calls") or ():
            identity = _checked_call(call)
            if identity in waiting or (identity in seen and identity not in reused_call_ids):
                raise BrokenRule(f"tool call id {identity} is not unique")
            waiting.add(identity)
        seen |= waiting
    if waiting:
        raise BrokenRule(f"tool calls without a result: {sorted(waiting)}")


def _answer(message: Message, waiting: set[str]) -> None:
    identity = message.get("tool_call_id")
    if identity not in waiting:
        raise BrokenRule(f"tool result {identity!r} answers no call of the message before it")
    waiting.remove(identity)


def _checked_call(call: Mapping[str, Any]) -> str:
    function = call.get("function", {})
    if not call.get("id") or not _TOOL_NAME.fullmatch(function.get("name", "")):
        raise BrokenRule("a tool call needs an id and a valid name")
    try:
        arguments = json.loads(function.get("arguments", ""))
    except ValueError:
        raise BrokenRule(f"arguments of tool call {call['id']} are not JSON") from None
    if not isinstance(arguments, dict):
        raise BrokenRule(f"arguments of tool call {call['id']} are not an object")
    return str(call["id"])


def _check_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    names = [tool.get("function", {}).get("name", "") for tool in tools]
    if any(not _TOOL_NAME.fullmatch(name) for name in names):
        raise BrokenRule(f"invalid tool name in {names}")
    if len(set(names)) != len(names):
        raise BrokenRule(f"tool names are not unique: {sorted(names)}")
