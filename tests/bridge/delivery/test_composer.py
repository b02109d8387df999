"""The composer: a run's stream becomes the answer as it stands."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.delivery.composer import STOPPED, Composition, asking, compose, settle, waiting
from bridge.delivery.events import CLARIFICATION, derive
from bridge.runs.jsonable import to_json
from bridge.runs.records import PartId, StreamPart
from channels.contract import (
    ActivityState,
    Artifact,
    Clarification,
    ClarificationState,
    Notice,
    NoticeKind,
    Reply,
    ReplyPhase,
    Text,
    Todo,
    Todos,
    ToolActivity,
)

RUN = "run-1"
QUESTION = Clarification("tok", "Which?")


def part(mode: str, data: Any, *namespace: str) -> StreamPart:
    return StreamPart(PartId(1, 1), mode, namespace, to_json(data))


def begins(attempt: int = 1) -> StreamPart:
    return part("metadata", {"run_id": RUN, "attempt": attempt})


def delta(text: Any, message_id: str = "a", node: str = "model", *namespace: str) -> StreamPart:
    chunk = {"type": "AIMessageChunk", "id": message_id, "content": text}
    return part("messages", [chunk, {"langgraph_node": node}], *namespace)


def ai(text: Any, message_id: str = "a", *tools: str, **more: Any) -> dict[str, Any]:
    calls = [{"id": f"call-{name}", "name": name, "args": {"path": f"/mnt/user-data/{name}.txt"}} for name in tools]
    return {"type": "ai", "id": message_id, "content": text, "tool_calls": calls, **more}


def tool(name: str, status: str = "success") -> dict[str, Any]:
    return {"type": "tool", "name": name, "tool_call_id": f"call-{name}", "status": status, "content": "result"}


def update(*messages: dict[str, Any], node: str = "model", **changes: Any) -> StreamPart:
    return part("updates", {node: {"messages": list(messages), **changes}})


def house(kind: str, **data: Any) -> StreamPart:
    return part("house", {"type": kind, **data})


ENDED = house("ended", failure=None, stopped=False)


def composed(*parts: StreamPart, begin: Composition | None = None) -> Reply:
    composition = begin or Composition.begin(RUN)
    for each in parts:
        for event in derive(each):
            composition = compose(composition, event)
    return composition.reply


def test_text_grows_and_the_threads_own_words_win() -> None:
    assert composed(begins(), delta("Hel"), delta("lo")).parts == (Text("a", "Hello"),)
    reply = composed(begins(), delta("Hel"), delta("lo"), update(ai("Hello!")), ENDED)
    assert reply == Reply((Text("a", "Hello!"),), ReplyPhase.FINAL, RUN)


def test_text_that_comes_after_its_message_is_finished_adds_nothing() -> None:
    assert composed(update(ai("Hello")), delta("Hello")).parts == (Text("a", "Hello"),)


def test_a_message_that_is_renamed_at_its_end_stays_in_its_place() -> None:
    reply = composed(delta("Hi", "chunk"), update(ai("Hi there", "final")), delta("More", "next"))
    assert reply.parts == (Text("final", "Hi there"), Text("next", "More"))


def test_a_message_without_text_leaves_none_behind() -> None:
    assert composed(delta("thinking"), update(ai(""))).parts == ()


def test_only_the_text_of_content_blocks_is_shown() -> None:
    blocks = [{"type": "thinking", "thinking": "secret"}, {"type": "text", "text": "Hi"}, "!", {"type": "image"}]
    assert composed(delta(blocks)).parts == (Text("a", "Hi!"),)


def test_tools_are_shown_as_they_run_with_what_they_are_about() -> None:
    running = ToolActivity("a/call-ls", "ls", ActivityState.RUNNING, "ls.txt")
    assert composed(update(ai("Look:", "a", "ls"))).parts == (Text("a", "Look:"), running)
    done = composed(update(ai("", "a", "ls", "bash")), update(tool("ls"), tool("bash", "error"), node="tools"))
    assert [(activity.name, activity.state) for activity in done.parts] == [
        ("ls", ActivityState.DONE),
        ("bash", ActivityState.FAILED),
    ]


def test_an_id_that_is_used_again_in_a_later_step_is_another_use_of_the_tool() -> None:
    """Symptom: of a tool that was used twice only the first use was shown."""
    first = (update(ai("", "a", "ls")), update(tool("ls", "error"), node="tools"))
    reply = composed(*first, update(ai("", "b", "ls")))
    assert [part.state for part in reply.parts] == [ActivityState.FAILED, ActivityState.RUNNING]
    kept = house("finished", messages=[ai("", "a", "ls"), tool("ls", "error"), ai("", "b", "ls")])
    again = composed(*first, update(ai("", "b", "ls")), begins(2), kept)
    assert again.parts == reply.parts
    done = composed(*first, update(ai("", "b", "ls")), begins(2), kept, update(tool("ls"), node="tools"))
    assert [part.state for part in done.parts] == [ActivityState.FAILED, ActivityState.DONE]


def test_a_long_detail_is_cut_and_never_all_arguments_are_told() -> None:
    call = {"id": "c", "name": "bash", "args": {"command": "x" * 200, "token": "secret"}}
    (activity,) = composed(update({"type": "ai", "id": "a", "content": "", "tool_calls": [call]})).parts
    assert len(activity.detail) == 80
    assert activity.detail.endswith("…")
    quiet = {"id": "c", "name": "login", "args": {"token": "secret"}}
    (activity,) = composed(update({"type": "ai", "id": "a", "content": "", "tool_calls": [quiet]})).parts
    assert activity.detail == ""


def test_what_is_shown_in_its_own_way_is_no_tool_activity() -> None:
    reply = composed(update(ai("", "a", "ask_clarification", "present_files", "write_todos")))
    assert reply.parts == ()


def test_todos_stand_first_and_are_replaced_or_taken_away() -> None:
    def todos(*texts: str) -> StreamPart:
        return update(node="tools", todos=[{"content": text, "status": "pending"} for text in texts])

    reply = composed(update(ai("Hi")), todos("one"), todos("one", "two"))
    assert reply.parts[0] == Todos((Todo("one", "pending"), Todo("two", "pending")))
    assert composed(todos("one"), todos()).parts == ()


def test_a_question_and_a_file_are_shown_once() -> None:
    asked = house("clarification", clarification=CLARIFICATION.dump_python(QUESTION, mode="json"))
    file = Artifact("/mnt/user-data/outputs/a.txt", "a.txt", "text/plain", 3)
    given_away = house(
        "artifact", artifact={"path": file.path, "name": "a.txt", "mime_type": "text/plain", "size_bytes": 3}
    )
    assert composed(asked, given_away, asked, given_away).parts == (QUESTION, file)


def test_nothing_hidden_and_nothing_of_others_is_shown() -> None:
    hidden = {"additional_kwargs": {"hide_from_ui": True}}
    reply = composed(
        update(ai("secret", **hidden)),
        update({"type": "human", "id": "h", "content": "secret"}),
        update({"type": "system", "id": "s", "content": "secret"}, node="tools"),
        update(ai("secret"), node="SummarizationMiddleware.before_model"),
        delta("secret", "a", "summarize"),
        delta("secret", "a", "model", "subagent:1"),
        part("updates", {"model": {"messages": [ai("secret")]}}, "subagent:1"),
        part("messages", [{"type": "human", "id": "h", "content": "secret"}, {"langgraph_node": "model"}]),
        part("messages", [{"type": "tool", "id": "t", "content": "secret"}, {"langgraph_node": "tools"}]),
        part("values", {"messages": [ai("secret")]}),
        part("custom", {"type": "anything", "text": "secret"}),
        part("error", {"message": "secret"}),
    )
    assert reply.parts == ()


def test_a_message_that_turns_out_to_be_hidden_takes_its_streamed_words_back() -> None:
    reply = composed(delta("secret"), update(ai("secret", additional_kwargs={"hide_from_ui": True})), ENDED)
    assert "secret" not in str(reply)


def test_another_attempt_drops_the_unfinished_step_and_keeps_the_rest() -> None:
    before = (begins(), update(ai("First.", "a", "ls")), update(tool("ls"), node="tools"), delta("Seco", "b"))
    reply = composed(*before, begins(2))
    assert [each.id for each in reply.parts] == ["a", "a/call-ls"]
    assert composed(*before, begins(2), delta("Second", "c")).parts[-1] == Text("c", "Second")


def test_a_model_asked_again_takes_back_what_it_had_said() -> None:
    assert composed(delta("Hal"), part("custom", {"type": "llm_retry"}), delta("Hello", "b")).parts == (
        Text("b", "Hello"),
    )


def test_the_end_says_what_went_wrong_and_leaves_nothing_running() -> None:
    started = update(ai("Hi", "a", "ls"))
    failed = composed(started, house("ended", failure="It broke.", stopped=False))
    assert [each.state for each in failed.parts if isinstance(each, ToolActivity)] == [ActivityState.FAILED]
    assert failed.parts[-1] == Notice(NoticeKind.ERROR, "It broke.")
    stopped = composed(delta("Hal"), house("ended", failure=None, stopped=True))
    assert stopped.parts == (Text("a", "Hal"), Notice(NoticeKind.STOPPED, STOPPED))
    assert composed(ENDED).parts == (Notice(NoticeKind.INFO, "(The agent gave no answer.)"),)
    assert failed.is_final


def test_a_settled_question_is_shown_where_it_stood() -> None:
    reply = Reply((Text("a", "Hi"), QUESTION, Text("b", "?")), ReplyPhase.FINAL, RUN)
    answered = Clarification("tok", "Which?", state=ClarificationState.ANSWERED, answer="red")
    assert settle(reply, answered).parts == (Text("a", "Hi"), answered, Text("b", "?"))
    assert settle(Reply(), answered) == Reply()


def test_who_waits_reads_behind_how_many() -> None:
    assert "one message" in waiting(RUN, 1).parts[0].text
    assert "3 messages" in waiting(RUN, 3).parts[0].text
    assert waiting(RUN, 1).phase is ReplyPhase.QUEUED


@st.composite
def _steps(draw: st.DrawFn) -> list[tuple[list[StreamPart], list[dict[str, Any]]]]:
    """Steps of a run: the parts each is streamed as, and the messages the thread keeps of it."""
    steps = []
    for number in range(draw(st.integers(1, 4))):
        words = draw(st.lists(st.text("ab ", min_size=1, max_size=4), max_size=4))
        tools = draw(st.lists(st.sampled_from(["ls", "bash"]), max_size=2, unique=True))
        chunk_id = f"chunk-{number}" if draw(st.booleans()) else f"m-{number}"
        message = ai("".join(words), f"m-{number}", *tools)
        results = [tool(name) for name in tools]  # under the same ids in every step, as some providers have it
        steps.append(([*(delta(word, chunk_id) for word in words), update(message)], [message]))
        if results:
            steps.append(([update(*results, node="tools")], results))
    return steps


@settings(max_examples=60, deadline=None)
@given(steps=_steps(), data=st.data())
def test_a_crash_anywhere_changes_nothing_in_the_end(
    steps: list[tuple[list[StreamPart], list[dict[str, Any]]]], data: st.DataObject
) -> None:
    """A reader saw any beginning of the stream; then the run went on elsewhere from its last finished step."""
    whole = [begins(), *(each for parts, _ in steps for each in parts), ENDED]
    finished = data.draw(st.integers(0, len(steps)), "steps the thread has")
    seen = data.draw(st.integers(0, sum(len(parts) for parts, _ in steps[: finished + 1]) + 1), "parts a reader saw")
    kept = [message for _, messages in steps[:finished] for message in messages]
    rest = [each for parts, _ in steps[finished:] for each in parts]

    again = composed(*whole[:seen], begins(2), house("finished", messages=kept), *rest, ENDED)

    assert again == composed(*whole)


@settings(max_examples=60, deadline=None)
@given(steps=_steps(), data=st.data())
def test_finished_messages_may_come_twice(
    steps: list[tuple[list[StreamPart], list[dict[str, Any]]]], data: st.DataObject
) -> None:
    parts = [begins(), *(each for streamed, _ in steps for each in streamed)]
    kept = [message for _, messages in steps for message in messages]
    assert composed(*parts, house("finished", messages=kept), ENDED) == composed(*parts, ENDED)


@pytest.mark.parametrize(
    ("messages", "age", "said"),
    [
        (1, timedelta(hours=3, minutes=50), "You wrote this 3 hours ago"),
        (1, timedelta(minutes=1), "You wrote this 1 minute ago"),
        (4, timedelta(days=1, hours=5), "You wrote these 4 messages, the first 1 day ago"),
    ],
)
def test_an_old_turn_asks_whether_it_is_still_wanted(messages: int, age: timedelta, said: str) -> None:
    reply = asking("run-1", messages, age)
    (notice,) = reply.parts
    assert isinstance(notice, Notice)
    assert notice.text.startswith(said)
    assert reply.waits
