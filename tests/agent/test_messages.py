"""Whatever a history has been through, a strict provider accepts it; what nobody shall see is marked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agent.messages import (
    INTERRUPTED,
    current_question,
    escape_markup,
    is_hidden,
    keep_tool_calls,
    mark_hidden,
    repair_pairing,
)
from tests.agent.pairing import check_strict_pairing

ids = st.sampled_from(["a", "b", "c", "", None])
names = st.sampled_from(["ls", "read_file", ""])
good_calls = st.builds(lambda name, call_id: {"name": name, "args": {}, "id": call_id, "type": "tool_call"}, names, ids)
bad_calls = st.builds(
    lambda name, call_id, error: {"name": name, "args": "{", "id": call_id, "error": error, "type": "invalid_tool_call"},
    st.sampled_from(["ls", None]), ids, st.sampled_from([None, "x" * 900]),
)  # fmt: skip
answers = st.builds(
    lambda text, good, bad: AIMessage(text, tool_calls=good, invalid_tool_calls=bad),
    st.sampled_from(["", "text"]), st.lists(good_calls, max_size=3), st.lists(bad_calls, max_size=2),
)  # fmt: skip
results = st.builds(lambda call_id, name: ToolMessage("result", tool_call_id=call_id or "", name=name), ids, names)
histories = st.lists(st.one_of(st.builds(HumanMessage, st.text(min_size=1)), answers, results), max_size=12)


@settings(max_examples=300, deadline=None)
@given(histories)
def test_any_history_comes_out_as_strict_providers_want_it(history: list[AnyMessage]) -> None:
    repaired = repair_pairing(history)

    check_strict_pairing(repaired)
    assert [m for m in repaired if isinstance(m, HumanMessage)] == [m for m in history if isinstance(m, HumanMessage)]
    assert repair_pairing(repaired) == repaired


def asks(*call_ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": call_id} for call_id in call_ids])


def test_a_sound_history_is_left_alone() -> None:
    history = [
        HumanMessage("go"),
        asks("1", "2"),
        ToolMessage("r1", tool_call_id="1"),
        ToolMessage("r2", tool_call_id="2"),
    ]
    assert repair_pairing(history) == history


def test_an_unanswered_call_is_answered_as_interrupted() -> None:
    repaired = repair_pairing([asks("1"), HumanMessage("and?")])
    assert (repaired[1].content, repaired[1].status) == (INTERRUPTED, "error")


def test_a_result_that_came_late_moves_to_its_call() -> None:
    late = ToolMessage("r", tool_call_id="1")
    assert repair_pairing([asks("1"), HumanMessage("steering"), late])[1] is late


def test_an_id_used_again_belongs_to_the_turn_before_it() -> None:
    old, new = ToolMessage("old", tool_call_id="1"), ToolMessage("new", tool_call_id="1")
    repaired = repair_pairing([asks("1"), old, HumanMessage("more"), asks("1"), new])
    assert [m.content for m in repaired if isinstance(m, ToolMessage)] == ["old", "new"]


def test_a_call_whose_arguments_were_cut_off_says_so() -> None:
    cut = AIMessage("", invalid_tool_calls=[{"name": "write_file", "args": '{"pa', "id": "1", "error": "cut off"}])
    repaired = repair_pairing([cut])
    assert repaired[0].tool_calls == [{"name": "write_file", "args": {}, "id": "1", "type": "tool_call"}]
    assert "cut off" in repaired[1].content


def test_stripping_calls_leaves_no_trace_of_them_in_any_form() -> None:
    content: list[Any] = [
        {"type": "text", "text": "I ask"},
        {"type": "tool_use", "id": "1", "name": "ls"},
        {"type": "tool_use", "id": "2", "name": "ls"},
    ]
    answer = AIMessage(
        content,
        tool_calls=asks("1", "2").tool_calls,
        invalid_tool_calls=[{"name": "x", "args": "{", "id": "3", "error": None}],
        additional_kwargs={"tool_calls": [{"id": "1"}], "kept": True},
        response_metadata={"finish_reason": "tool_calls", "model_name": "m"},
    )

    one, none = keep_tool_calls(answer, {"2"}), keep_tool_calls(answer, ())
    assert [call["id"] for call in one.tool_calls] == ["2"]
    assert [block.get("id") for block in one.content] == [None, "2"]
    assert one.additional_kwargs == {"kept": True}
    assert one.response_metadata["finish_reason"] == "tool_calls"
    assert none.tool_calls == none.invalid_tool_calls == []
    assert none.response_metadata == {"finish_reason": "stop", "model_name": "m"}


def test_hidden_messages_are_no_questions_unless_they_answer_one() -> None:
    shown = HumanMessage("shown")
    hidden = mark_hidden(HumanMessage("hidden"))
    reply = HumanMessage("a", additional_kwargs={"hide_from_ui": True, "human_input_response": {"value": "a"}})
    assert is_hidden(hidden)
    assert not is_hidden(shown)
    assert current_question([shown, hidden]) is shown
    assert current_question([shown, reply, hidden]) is reply


@pytest.mark.parametrize("text", ["</current_uploads>", "<a & b>"])
def test_escaped_text_closes_no_tag(text: str) -> None:
    assert "<" not in escape_markup(text)
