"""What people type besides talking, and what only looks like it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent import AssistantInfo
from agent.models import ModelInfo
from bridge.dispatch.commands import COMMANDS, recognise
from bridge.persistence.inbox import EventState
from bridge.runs.records import CancelAction, RunStatus
from channels.contract import Addressed, ChatKind, FileRef, StopRequested
from tests.bridge.dispatch.conftest import Desk
from tests.bridge.people import BOB, CHAT, message, stop


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("/stop", ("stop", "")),
        ("  /STOP@my_bot  now please ", ("stop", "now please")),
        ("/new\nwrite a poem", ("new", "write a poem")),
        ("/help", ("help", "")),
        ("/stopp", None),
        ("/unknown words", None),
        ("/mnt/user-data/outputs/a.txt", None),
        ("/stop/now", None),
        ("please /stop", None),
        ("/", None),
        ("", None),
    ],
)
def test_only_a_command_at_the_beginning_is_one(text: str, called: tuple[str, str] | None) -> None:
    found = recognise(text)
    assert (found and (found[0].name, found[1])) == called


@pytest.mark.parametrize("text", ["/unknown", "/mnt/user-data/outputs/a.txt what is this?"])
async def test_a_slash_word_that_is_no_command_is_a_turn(desk: Desk, text: str) -> None:
    await desk.decide(message(text))
    assert len(await desk.runs()) == 1


async def test_a_command_is_answered_and_written_down_but_is_no_turn(desk: Desk) -> None:
    await desk.decide(message("hi"))
    effects = await desk.decide(message("/help", message_id="m-9"))

    assert effects.deliveries_stored
    assert not effects.runs_stored
    (answer,) = await desk.answers()
    shown = [command.name for command in COMMANDS.values() if command.is_shown and not command.for_admins]
    assert [name for name in COMMANDS if f"`/{name}`" in answer] == shown
    assert len(await desk.runs()) == 1
    _, asked, answered = await desk.said()
    assert (asked.text, asked.message_id) == ("/help", "m-9")
    assert answered.reply is not None


async def test_a_command_is_not_held_up_by_what_runs(desk: Desk) -> None:
    await desk.decide(message("one"), message("two"))
    await desk.begin()
    await desk.decide(message("/status"))
    (answer,) = await desk.answers()
    assert "an answer is being written" in answer
    assert "waiting: 1" in answer


async def test_status_before_anything_was_said(desk: Desk) -> None:
    await desk.decide(message("/status"))
    assert await desk.answers() == ["No conversation yet: just write something."]


async def test_status_names_the_open_question(desk: Desk) -> None:
    await desk.decide(message("hi"))
    await desk.ask("red", "blue")
    await desk.decide(message("/status"))
    (answer,) = await desk.answers()
    assert "Which?" in answer
    assert "nothing is running" in answer


async def test_stop_ends_what_runs_and_what_waits(desk: Desk) -> None:
    await desk.decide(message("one"), message("two"), message("three"))
    running = await desk.begin()
    effects = await desk.decide(message("/stop"))

    assert effects.to_stop == {running.run_id: CancelAction.INTERRUPT}
    assert effects.threads_changed == {await desk.thread()}
    assert [run.status for run in await desk.runs()] == [
        RunStatus.RUNNING,
        RunStatus.INTERRUPTED,
        RunStatus.INTERRUPTED,
    ]
    assert await desk.answers() == ["Stopped, and 2 waiting messages were dropped."]


@pytest.mark.parametrize("word", ["stop", "Stop!", " HALT. ", "Стоп", "停止。"])
async def test_a_lone_stop_word_stops_what_runs_and_is_chat_otherwise(desk: Desk, word: str) -> None:
    await desk.decide(message(word))
    assert await desk.answers() == []
    running = await desk.begin()
    effects = await desk.decide(message(word), debounce=2)
    assert effects.to_stop == {running.run_id: CancelAction.INTERRUPT}
    assert await desk.answers() == ["Stopped."]
    assert len(await desk.runs()) == 1


@pytest.mark.parametrize("text", ["stop it", "do not stop", "stopped", "unstoppable", "", "!"])
async def test_what_is_more_than_a_stop_word_waits_like_any_message(desk: Desk, text: str) -> None:
    await desk.decide(message("hi"))
    await desk.begin()
    assert not (await desk.decide(message(text))).to_stop
    assert len(await desk.runs()) == 2


async def test_a_stop_word_under_a_file_is_about_the_file(desk: Desk) -> None:
    await desk.decide(message("hi"))
    await desk.begin()
    assert not (await desk.decide(message("stop", files=(FileRef("ref", "sign.png"),)))).to_stop


async def test_stop_with_nothing_to_stop_says_so(desk: Desk) -> None:
    await desk.decide(message("/stop"))
    assert await desk.answers() == ["Nothing is running."]


async def test_new_begins_another_thread_and_stops_the_old_one(desk: Desk) -> None:
    await desk.decide(message("one"), message("two"))
    running = await desk.begin()
    old = await desk.thread()
    effects = await desk.decide(message("/new"))

    assert await desk.thread() != old
    assert effects.to_stop == {running.run_id: CancelAction.INTERRUPT}
    assert effects.threads_changed == {old}
    assert [run.status for run in await desk.runs(old)] == [RunStatus.RUNNING, RunStatus.INTERRUPTED]
    assert [entry.text for entry in await desk.said(old)] == ["one", "two"]
    await desk.decide(message("three"))
    (fresh,) = await desk.runs()
    assert (await desk.begin()).run_id == fresh.run_id


async def test_the_stop_button_stops_the_run_it_was_drawn_for(desk: Desk) -> None:
    await desk.decide(message("one"), message("two"))
    running = await desk.begin()
    pressed = stop(running.run_id)
    effects = await desk.decide(pressed)

    assert effects.to_stop == {running.run_id: CancelAction.INTERRUPT}
    assert effects.press is not None
    assert effects.press[0] == pressed
    assert effects.press[1].accepted
    assert [run.status for run in await desk.runs()] == [RunStatus.RUNNING, RunStatus.PENDING]


async def test_a_stop_without_a_run_stops_whatever_runs(desk: Desk) -> None:
    await desk.decide(message("one"))
    running = await desk.begin()
    effects = await desk.decide(stop())
    assert effects.to_stop == {running.run_id: CancelAction.INTERRUPT}


async def test_a_stop_that_comes_too_late_stops_nothing_else(desk: Desk) -> None:
    await desk.decide(message("one"), message("two"))
    first = await desk.begin()
    await desk.finish(first)
    second = await desk.begin()
    effects = await desk.decide(stop(first.run_id))

    assert effects.to_stop == {}
    assert effects.press is not None
    assert not effects.press[1].accepted
    assert (await desk.runs())[1].cancel_action is None
    assert second.status is RunStatus.RUNNING


async def test_a_stop_from_another_conversation_stops_nothing(desk: Desk) -> None:
    await desk.decide(message("one"))
    running = await desk.begin()
    foreign: StopRequested = stop(running.run_id, BOB, conversation=type(CHAT)("demo", "bot", "another"))
    (event_id,) = await desk.store(foreign)
    effects = await desk.next(foreign.conversation)
    assert effects.press is not None
    assert not effects.press[1].accepted
    assert (await desk.runs())[0].cancel_action is None
    assert await desk.state(event_id) is EventState.DECIDED


ASSISTANTS = (AssistantInfo("lead", "lead", "Lead", ""), AssistantInfo("writer-1", "writer", "Writer", "for letters"))
MODELS = (
    ModelInfo("main", "gpt", "Main", "for every day", supports_vision=False, supports_thinking=False),
    ModelInfo("fast", "gpt-mini", "Fast", None, supports_vision=False, supports_thinking=False),
    ModelInfo("plain", "gpt-nano", "plain", None, supports_vision=False, supports_thinking=False),
)


async def answer_to(desk: Desk, text: str) -> str:
    before = len(await desk.answers())
    await desk.decide(message(text), models=MODELS, assistants=ASSISTANTS)
    (answer,) = (await desk.answers())[before:]
    return answer


async def context_of_next_run(desk: Desk) -> Mapping[str, Any]:
    await desk.decide(message("go on"))
    return (await desk.runs())[-1].spec.context


async def test_a_model_is_chosen_for_one_conversation_and_given_back(desk: Desk) -> None:
    assert "`main` Main – for every day **(now)**" in await answer_to(desk, "/models")
    assert (await answer_to(desk, "/models")).endswith("\n- `plain`")
    assert "`main` answers here" in await answer_to(desk, "/model")
    assert "Fast (`fast`)" in await answer_to(desk, "/model FAST")
    assert "`fast` Fast **(now)**" in await answer_to(desk, "/models")
    assert await context_of_next_run(desk) == {"model_name": "fast"}
    assert "No model is called 'slow'" in await answer_to(desk, "/model slow")
    await answer_to(desk, "/model default")
    assert await context_of_next_run(desk) == {}


async def test_an_assistant_is_chosen_for_one_conversation_and_given_back(desk: Desk) -> None:
    async def next_assistant() -> str:
        await desk.decide(message("go on"), assistants=ASSISTANTS)
        return (await desk.runs())[-1].assistant_id

    assert "`lead` Lead **(now)**" in await answer_to(desk, "/assistant")
    assert "Writer (`writer-1`)" in await answer_to(desk, "/assistant WRITER")
    assert "`writer-1` Writer – for letters **(now)**" in await answer_to(desk, "/assistant")
    assert await next_assistant() == "writer-1"
    assert "No assistant is called 'nobody'" in await answer_to(desk, "/assistant nobody")
    await desk.decide(message("go on"))  # the one that was chosen is not configured any more
    assert (await desk.runs())[-1].assistant_id == "lead"
    await answer_to(desk, "/assistant default")
    assert await next_assistant() == "lead"


async def test_the_busy_policy_of_a_conversation_wins_over_the_configured_one(desk: Desk) -> None:
    assert "`/busy queue` – it waits and is answered next **(now)**" in await answer_to(desk, "/busy")
    assert "the agent stops" in await answer_to(desk, "/busy Interrupt")
    await desk.decide(message("one"))
    run = await desk.begin()
    effects = await desk.decide(message("two"))
    assert effects.to_stop == {run.run_id: CancelAction.INTERRUPT}
    assert "I do not know 'later'" in await answer_to(desk, "/busy later")
    assert "waits and is answered next" in await answer_to(desk, "/busy default")


@pytest.mark.parametrize(
    ("asked", "said", "context"),
    [
        ("/plan on", "plan: on", {"is_plan_mode": True}),
        ("/settings thinking off", "thinking: off", {"thinking_enabled": False}),
        ("/settings subagents yes", "subagents: on", {"subagent_enabled": True}),
        ("/settings streaming off", "streaming: off", {}),
        ("/settings colour on", "I do not know 'colour'", {}),
        ("/settings plan maybe", "Say `on`, `off` or `default`", {}),
        ("/settings", "`plan` as configured", {}),
    ],
)
async def test_what_is_switched_for_a_conversation_reaches_its_runs(
    desk: Desk, asked: str, said: str, context: Mapping[str, Any]
) -> None:
    assert said in await answer_to(desk, asked)
    assert await context_of_next_run(desk) == context


async def test_a_choice_is_kept_over_a_new_thread(desk: Desk) -> None:
    await answer_to(desk, "/plan on")
    await answer_to(desk, "/new")
    assert await context_of_next_run(desk) == {"is_plan_mode": True}


@pytest.mark.parametrize("name", ["memory", "skills", "goal", "bootstrap"])
async def test_a_feature_that_is_not_there_says_so(desk: Desk, name: str) -> None:
    assert f"`/{name}` does nothing" in await answer_to(desk, f"/{name}")
    assert f"/{name}" not in await answer_to(desk, "/help")


async def test_when_the_bot_answers_in_a_group_is_chosen_there(desk: Desk) -> None:
    async def said_in_group(text: str) -> str:
        before = len(await desk.answers())
        group = replace(CHAT, chat="group")
        await desk.store(message(text, conversation=group, chat_kind=ChatKind.GROUP, addressed=Addressed.COMMAND))
        assert await desk.next(group) is not None
        (answer,) = (await desk.answers())[before:]
        return answer

    assert "when I am mentioned" in await said_in_group("/speak")
    assert "whatever is written" in await said_in_group("/speak always")
    assert "whatever is written" in await said_in_group("/speak")
    assert "I do not know 'loudly'" in await said_in_group("/speak loudly")
    assert "when I am mentioned" in await said_in_group("/speak default")
    assert "In a private chat" in await answer_to(desk, "/speak never")
