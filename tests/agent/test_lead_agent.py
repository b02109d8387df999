"""The lead agent as a whole: each middleware of its stack shows in what the model is shown or the thread keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agent import AgentRuntime, ModelCallFailed, RunContext, RunRequest
from agent.messages import is_hidden
from tests.agent.pairing import check_strict_pairing
from tests.agent.scripted import Breaks, ScriptedModel, Step, calls, scripted_config, texts

THREAD = "t"
NO_WAIT = {"retry_base_delay_ms": 0, "retry_cap_delay_ms": 0}


class Lead:
    """One thread of a lead agent that plays a script."""

    def __init__(self, runtime: AgentRuntime, model: ScriptedModel) -> None:
        self.runtime = runtime
        self.model = model
        self.turns = 0

    async def turn(self, *messages: HumanMessage, **context: Any) -> list[dict[str, Any]]:
        self.turns += 1
        about = RunContext(THREAD, f"run-{self.turns}", **context)
        asked = RunRequest(about, self.turns, input={"messages": list(messages)})
        return [part async for part in self.runtime.stream(asked, modes=["messages", "updates", "custom"])]

    async def state(self) -> dict[str, Any]:
        return (await self.runtime.get_state(THREAD)).values


@pytest.fixture
async def lead(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Lead]:
    steps: Sequence[Step] = request.param
    config, model = scripted_config(request.node.name, *steps, llm_call=NO_WAIT)
    async with AgentRuntime.open(config, home=tmp_path, database_url=None) as runtime:
        yield Lead(runtime, model)


def plays(*steps: Step) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("lead", [steps], indirect=True, ids=["script"])


class HttpError(Exception):
    """What SDKs raise: a status, and a response with headers."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.response = type("Response", (), {"headers": {k.replace("_", "-"): v for k, v in headers.items()}})()


@plays(AIMessage("hi"))
async def test_the_question_is_stamped_with_its_run_and_the_thread_knows_its_directories(lead: Lead) -> None:
    await lead.turn(HumanMessage("hello"))

    state = await lead.state()
    question = state["messages"][0]
    assert question.additional_kwargs["run_id"] == "run-1"
    assert datetime.fromisoformat(question.additional_kwargs["timestamp"]).tzinfo is not None
    assert question.name == "user-input"
    assert state["thread_data"]["uploads_path"] == "/mnt/user-data/uploads"


@plays(AIMessage("hi"))
async def test_the_model_is_told_which_files_came_and_the_persons_words_are_kept(lead: Lead) -> None:
    uploads = lead.runtime.paths.uploads(THREAD)
    uploads.mkdir(parents=True)
    (uploads / "a<b>.csv").write_bytes(b"x" * 1536)
    (uploads / "link").symlink_to("/etc/passwd")
    files = [{"filename": name} for name in ("a<b>.csv", "gone.txt", "../a<b>.csv", "link", ".hidden")]
    await lead.turn(HumanMessage("what is this?", additional_kwargs={"files": files}))

    shown = texts(lead.model.asked[0])[-1]
    assert "- a&lt;b&gt;.csv (1.5 KB): /mnt/user-data/uploads/a&lt;b&gt;.csv" in shown
    assert shown.endswith("</current_uploads>\n\nwhat is this?")
    assert not any(name in shown for name in ("gone", "link", "hidden"))
    state = await lead.state()
    assert state["messages"][0].additional_kwargs["original_user_content"] == "what is this?"
    assert state["uploaded_files"] == [
        {"filename": "a<b>.csv", "size": 1536, "path": "/mnt/user-data/uploads/a<b>.csv"}
    ]
    assert state["title"] == "what is this?"

    await lead.turn(HumanMessage("thanks"))
    assert (await lead.state())["uploaded_files"] == []


@plays(HttpError(503), HttpError(429, retry_after_ms="1"), AIMessage("there"))
async def test_a_busy_provider_is_called_again_and_the_wait_is_told(lead: Lead) -> None:
    parts = await lead.turn(HumanMessage("hello"))

    told = [part["data"] for part in parts if part["type"] == "custom"]
    assert told == [
        {"type": "llm_retry", "attempt": 1, "max_attempts": 3, "wait_ms": 0, "reason": "http_503"},
        {"type": "llm_retry", "attempt": 2, "max_attempts": 3, "wait_ms": 1, "reason": "http_429"},
    ]
    assert texts((await lead.state())["messages"]) == ["hello", "there"]


@plays(HttpError(401))
async def test_a_refused_key_fails_at_once_and_says_so(lead: Lead) -> None:
    with pytest.raises(ModelCallFailed) as failed:
        await lead.turn(HumanMessage("hello"))

    assert failed.value.user_message == "The model refused the key it was called with."
    assert len(lead.model.asked) == 1


@plays(Breaks("half an", ConnectionError()), AIMessage("whole"))
async def test_an_answer_that_broke_off_in_sight_is_not_begun_again(lead: Lead) -> None:
    with pytest.raises(ModelCallFailed, match="connection") as failed:
        await lead.turn(HumanMessage("hello"))

    assert failed.value.user_message == "The answer broke off in the middle. The model could not be reached."
    assert len(lead.model.asked) == 1


@plays(calls("read_file", "ls", path="/etc/passwd"), AIMessage("I may not."))
async def test_a_failing_tool_answers_and_the_run_goes_on(lead: Lead) -> None:
    await lead.turn(HumanMessage("read it"))

    messages = (await lead.state())["messages"]
    results = [m for m in messages if isinstance(m, ToolMessage)]
    assert [m.status for m in results] == ["error", "error"]
    assert {m.additional_kwargs["tool_meta"]["error_type"] for m in results} == {"permission"}
    assert texts(messages)[-1] == "I may not."
    check_strict_pairing(lead.model.asked[-1])


@plays(calls("ls", path="/mnt/user-data/outputs"), AIMessage("empty"))
async def test_a_result_says_for_programs_that_it_succeeded(lead: Lead) -> None:
    await lead.turn(HumanMessage("list"))

    result = next(m for m in (await lead.state())["messages"] if isinstance(m, ToolMessage))
    assert result.additional_kwargs["tool_meta"] == {
        "status": "success", "error_type": None, "recoverable_by_model": True,
    }  # fmt: skip


@plays(AIMessage("one"), AIMessage("two"))
async def test_the_date_is_shown_once_a_day_and_never_stored(lead: Lead) -> None:
    await lead.turn(HumanMessage("hello"))
    await lead.turn(HumanMessage("again"))

    first, second = lead.model.asked
    reminders = [m for m in second if is_hidden(m)]
    today = datetime.now().astimezone().date().isoformat()
    assert [today in str(m.content) for m in reminders] == [True]
    assert second[: len(first)] == first, "a longer conversation must begin with the same bytes"
    assert not any(is_hidden(m) for m in (await lead.state())["messages"])


class Given:
    """A source that gives the same message twice, as after a crash."""

    def __init__(self) -> None:
        self.calls = 0

    async def take(self) -> Sequence[HumanMessage]:
        self.calls += 1
        return [HumanMessage("use blue", id="steer-1")] if self.calls > 1 else []


@plays(calls("ls", path="/mnt/user-data/outputs"), calls("ls:again", path="/mnt/user-data/outputs"), AIMessage("blue"))
async def test_what_the_person_says_meanwhile_reaches_the_next_call_once(lead: Lead) -> None:
    await lead.turn(HumanMessage("paint it"), steering=Given())

    shown = [m.type for m in lead.model.asked[1] if m.type != "system"]
    assert shown[-3:] == ["ai", "tool", "human"]
    stored = texts((await lead.state())["messages"])
    assert stored.count("use blue") == 1
    check_strict_pairing(lead.model.asked[2])


@plays(calls("ls", path="/mnt/user-data/outputs"), AIMessage("one"))
async def test_the_thread_is_named_after_its_first_question(lead: Lead) -> None:
    parts = await lead.turn(HumanMessage("please  compare the\nprices of these seven shops"))
    await lead.turn(HumanMessage("something else"))

    assert (await lead.state())["title"] == "please compare the prices of these…"
    first_update = next(part["data"]["model"] for part in parts if part["type"] == "updates")
    assert first_update["title"], "an interrupted first run has a title too"
