"""What the strictest providers demand of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage


def check_strict_pairing(messages: Sequence[BaseMessage]) -> None:
    """Each call has a name, an id of its own and exactly one result, directly behind the message that asked."""
    expected: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in expected, f"nobody asked for {message.tool_call_id!r} here"
            expected.remove(message.tool_call_id)
            continue
        assert not expected, f"no result for {expected} before the next message"
        if isinstance(message, AIMessage):
            assert not message.invalid_tool_calls
            assert message.tool_calls or message.content, "an answer that says and asks nothing"
            ids = [call["id"] for call in message.tool_calls]
            assert all(ids), "a call without an id"
            assert len(set(ids)) == len(ids), "two calls of one id"
            assert all(call["name"] for call in message.tool_calls)
            expected = [call_id for call_id in ids if call_id]
    assert not expected, f"no result for {expected} at the end"
