"""A question to the person ends the run, whatever else the model asked for in the same breath."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage

from agent import AgentRuntime, Continuation, RunContext, RunRequest
from agent.clarification.request import ASK_CLARIFICATION, ICONS, NO_QUESTION, clarification_request
from tests.agent.pairing import check_strict_pairing
from tests.agent.scripted import calls, scripted_config, texts


def request_from(**args: Any) -> Any:
    return clarification_request(ToolCall(name=ASK_CLARIFICATION, args=args, id="call-1", type="tool_call"))


async def test_the_run_ends_with_the_question_and_no_other_call_of_the_answer_runs(tmp_path: Path) -> None:
    path = "/mnt/user-data/outputs/never.txt"
    answer = calls("write_file", ASK_CLARIFICATION, question="Which one?", options=["a", "b"], path=path, content="x")
    answer.additional_kwargs["tool_calls"] = [{"id": "call-write_file", "function": {"name": "write_file"}}]
    config, model = scripted_config("asks", answer, AIMessage("thanks"))
    async with AgentRuntime.open(config, home=tmp_path, database_url=None) as runtime:
        asked = RunRequest(RunContext("t", "run-1"), 1, input={"messages": [HumanMessage("do it")]})
        parts = [part async for part in runtime.stream(asked, modes=["updates"])]

        messages = (await runtime.get_state("t")).values["messages"]
        question = messages[-1]
        assert isinstance(question, ToolMessage)
        assert question.id == "clarification:call-ask_clarification"
        assert question.name == ASK_CLARIFICATION
        assert [o["value"] for o in question.artifact["human_input"]["options"]] == ["a", "b"]
        assert [call["name"] for call in messages[-2].tool_calls] == [ASK_CLARIFICATION]
        assert "tool_calls" not in messages[-2].additional_kwargs
        assert await runtime.continuation("t", "run-1") is Continuation.FINISHED
        assert not runtime.paths.resolve("t", path).exists()
        assert len(parts) == len(model.asked) == 1

        await_answer = RunRequest(RunContext("t", "run-2"), 2, input={"messages": [HumanMessage("a")]})
        [part async for part in runtime.stream(await_answer, modes=["updates"])]
        check_strict_pairing(model.asked[-1])
        assert texts(model.asked[-1])[-1] == "a"


async def test_without_clarification_the_model_is_not_offered_the_tool(tmp_path: Path) -> None:
    config, model = scripted_config("no-asking", AIMessage("fine"), clarification={"enabled": False})
    async with AgentRuntime.open(config, home=tmp_path, database_url=None) as runtime:
        asked = RunRequest(RunContext("t", "run-1"), 1, input={"messages": [HumanMessage("do it")]})
        [part async for part in runtime.stream(asked, modes=["updates"])]

    assert ASK_CLARIFICATION not in model.tool_names[0]
    assert ASK_CLARIFICATION not in str(model.asked[0][0].content)


@pytest.mark.parametrize("kind", ICONS)
def test_each_type_has_its_sign(kind: str) -> None:
    request = request_from(question="Go on?", clarification_type=kind)
    assert request.text() == f"{ICONS[kind]} Go on?"
    assert request.payload()["input_mode"] == "free_text"


def test_an_unknown_type_and_a_missing_question_still_ask() -> None:
    request = request_from(clarification_type="whatever", question=" ")
    assert (request.clarification_type, request.question) == ("missing_info", NO_QUESTION)


@pytest.mark.parametrize(
    "options",
    [
        ["red", "blue", "red", " "],
        '["red", "blue"]',
        [{"label": "red"}, {"value": "blue"}, {"label": "red"}, {}],
        [{"text": "red"}, "blue", None],
    ],
)
def test_options_come_out_alike_in_whatever_form_they_were_given(options: Any) -> None:
    payload = request_from(question="Which?", options=options).payload()
    assert [option["label"] for option in payload["options"]] == ["red", "blue"]
    assert payload["input_mode"] == "choice_with_other"
    assert payload["version"] == 1
    assert "1. red\n2. blue" in request_from(question="Which?", options=options).text()


def test_an_option_may_say_one_thing_and_mean_another() -> None:
    option = request_from(question="Which?", options=[{"label": "Yes, delete", "value": "yes"}]).options[0]
    assert (option.label, option.value) == ("Yes, delete", "yes")


def test_a_form_asks_several_things_at_once() -> None:
    fields = [
        {"name": "city", "label": "City"},
        {"name": "days", "options": ["1", "2"], "multiple": True, "required": False},
    ]
    payload = request_from(question="Where and when?", fields=fields).payload()
    assert payload["version"] == 2
    assert payload["input_mode"] == "form"
    assert [(f["name"], f["label"], f["multiple"], f["required"]) for f in payload["fields"]] == [
        ("city", "City", False, True),
        ("days", "days", True, False),
    ]


@pytest.mark.parametrize(
    "args",
    [
        {"fields": [{"name": "a"}, {"label": "no name"}]},
        {"fields": [{"name": "a"}, {"name": "a"}]},
        {"fields": [{"name": f"f{n}"} for n in range(17)]},
        {"fields": [{"name": "f", "options": [str(n) for n in range(25)]}]},
        {"options": [str(n) for n in range(25)]},
        {"options": [{"label": str(n), "value": "x" * 2000 + str(n)} for n in range(20)]},
    ],
    ids=["nameless field", "field twice", "17 fields", "25 options in a field", "25 options", "over 16 KiB"],
)
def test_what_breaks_a_limit_becomes_a_question_in_free_words(args: dict[str, Any]) -> None:
    request = request_from(question="Which?", **args)
    assert request.input_mode == "free_text"
    assert request.question.startswith("Which?\n- ")
    assert len(json.dumps(request.payload())) < 16 * 1024


def test_a_long_label_is_cut_but_its_value_is_not() -> None:
    option = request_from(question="Which?", options=["x" * 300]).options[0]
    assert (len(option.label), len(option.value)) == (200, 300)
