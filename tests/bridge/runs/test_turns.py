"""A chat's turn as a run: its messages and files in, its questions and files out, and what is said meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.types import Interrupt, interrupt
from sqlalchemy import select, update

from agent import factory
from bridge.clock import utc_now
from bridge.dispatch.dispatcher import Dispatcher, Rules
from bridge.errors import LeaseExpired, TranscriptionFailed
from bridge.files.artifacts import Artifacts
from bridge.inbox.config import InboxConfig
from bridge.persistence import clarifications, conversations, inbox, runs, tables, transcript, usage
from bridge.persistence.clarifications import AskedBy
from bridge.persistence.inbox import EventState
from bridge.persistence.tables import inbound_events
from bridge.runs.config import RunsConfig
from bridge.runs.observer import Observer
from bridge.runs.records import ModelUsage, RunRecord, RunStatus
from channels.contract import (
    Artifact,
    BusyPolicy,
    ChannelSection,
    ChatKind,
    Clarification,
    FileRef,
    FileUnavailable,
    InboundEvent,
    Notice,
    Option,
    Reply,
    Text,
)
from tests.bridge.people import CHAT, message, press
from tests.bridge.replica import Replica
from tests.bridge.scripted import Says, Script

Play = Callable[..., Awaitable[tuple[Replica, Script]]]
ASK = {
    "question": "Which colour?",
    "clarification_type": "approach_choice",
    "options": ["Red", "Blue"],
}


class Files:
    """A channel that only gives files."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def download(self, ref: FileRef, destination: Path) -> None:
        self.asked.append(ref.ref)
        if ref.ref == "gone":
            raise FileUnavailable("404", user_message="it has expired")
        await asyncio.to_thread(destination.write_bytes, ref.ref.encode())


class Ears:
    """A transcriber that hears what the file says."""

    def __init__(self) -> None:
        self.began, self.go_on = asyncio.Event(), asyncio.Event()

    async def transcribe(self, audio: Path, mime_type: str, language: str | None) -> str:
        words = await asyncio.to_thread(audio.read_text)
        match words:
            case "refused":
                raise TranscriptionFailed("429", user_message="the service is busy")
            case "broken":
                raise RuntimeError("nobody expected this")
            case "slow":
                await asyncio.Event().wait()
            case "wait":
                self.began.set()
                await self.go_on.wait()
        return f"{words} ({mime_type}, {language})" if words.strip() else words

    async def close(self) -> None: ...


async def store(house: Replica, *events: InboundEvent) -> list[int]:
    return [
        await house.database.write(lambda c, e=event: inbox.insert(c, e, now=utc_now(), available_at=utc_now()))
        for event in events
    ]


async def decide(
    house: Replica, *events: InboundEvent, busy: BusyPolicy = BusyPolicy.QUEUE, debounce: float = 0
) -> None:
    """Let these arrive and be decided."""
    await store(house, *events)
    config = InboxConfig(debounce_seconds=debounce)
    rules = Rules({"demo": ChannelSection(busy=busy)}, RunsConfig(), config, "lead_agent")
    while await Dispatcher(house.database, rules, utc_now).decide_next(CHAT) is not None:
        house.queue.wake()


async def thread(house: Replica) -> str:
    record = await house.database.read(lambda c: conversations.find(c, CHAT))
    assert record is not None
    assert record.thread_id is not None
    return record.thread_id


async def last_run(house: Replica) -> RunRecord:
    return (await house.manager.list(await thread(house)))[0]


async def answer(house: Replica, run: RunRecord) -> Reply:
    await house.ended(run)
    reply = await house.database.read(lambda c: transcript.reply_of(c, run.run_id))
    assert reply is not None
    return reply


async def human(house: Replica) -> Sequence[Any]:
    state = await house.agent.get_state(await thread(house))
    return [message for message in state.values["messages"] if message.type == "human"]


async def test_what_was_said_together_is_told_as_one_message(play: Play) -> None:
    house, _ = await play(Says("Hello"))
    await decide(house, message("one"), message("two"), debounce=2)
    await answer(house, await last_run(house))
    assert [told.text for told in await human(house)] == ["one\n\ntwo"]


async def test_in_a_group_the_agent_knows_who_speaks(play: Play) -> None:
    house, script = await play(Says("Hello"))
    await decide(house, message("hi", chat_kind=ChatKind.GROUP))
    await answer(house, await last_run(house))
    assert script.asked[0][-1].text == "Ann: hi"


async def test_files_come_with_their_message_and_what_did_not_come_is_said(play: Play) -> None:
    channel = Files()
    house, script = await play(Says("Seen"), channels={"demo": channel})
    refs = (FileRef("content", "a.txt"), FileRef("gone", "b.txt"))
    await decide(house, message("look", files=refs, message_id="m-1"))
    await answer(house, await last_run(house))

    told = script.asked[0][-1].text
    assert "/mnt/user-data/uploads/a.txt" in told
    assert "'b.txt' did not come: it has expired" in told
    reply = await answer(house, await last_run(house))
    assert [part.text for part in reply.parts if isinstance(part, Notice)] == [
        "The file 'b.txt' did not come: it has expired."
    ]
    thread_id = await thread(house)
    entry, _ = await house.database.read(lambda c: transcript.entries(c, thread_id))
    assert [(file.name, file.size_bytes) for file in entry.files] == [("a.txt", 7)]
    assert entry.text == "look"


async def test_a_turn_whose_only_file_did_not_come_goes_on_and_says_so_once_over_a_restart(play: Play) -> None:
    channel = Files()
    house, script = await play(Says("Half", gate=asyncio.Event()), Says("Seen"), channels={"demo": channel})
    await decide(house, message("look", files=(FileRef("gone", "b.txt"),)))
    await script.was_asked(1)
    await house.queue.stop()
    await house.queue.start()
    reply = await answer(house, await last_run(house))
    assert [type(part) for part in reply.parts] == [Notice, Text]
    assert "'b.txt' did not come" in script.asked[1][-1].text
    assert channel.asked == ["gone"]


async def test_what_is_spoken_is_told_in_writing_and_the_recording_stays_a_file(play: Play) -> None:
    house, script = await play(Says("Understood"), channels={"demo": Files()}, transcriber=Ears())
    refs = (FileRef("buy milk", "voice_5.ogg", "audio/ogg"), FileRef("text", "a.txt"))
    await decide(house, message("", files=refs, chat_kind=ChatKind.GROUP))
    await answer(house, await last_run(house))

    told = script.asked[0][-1].text
    assert "Ann: [Spoken, and put into writing by a machine:] buy milk (audio/ogg, None)" in told
    assert "/mnt/user-data/uploads/voice_5.ogg" in told
    thread_id = await thread(house)
    entry, _ = await house.database.read(lambda c: transcript.entries(c, thread_id))
    assert entry.text == "🎤 buy milk (audio/ogg, None)"
    assert [file.name for file in entry.files] == ["voice_5.ogg", "a.txt"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("refused", "the service is busy"),
        ("broken", "it could not be understood"),
        ("slow", "it took too long"),
        (" ", "there are no words in it"),
    ],
)
async def test_a_recording_that_is_not_understood_says_why_and_the_turn_goes_on(
    play: Play, said: str, reason: str
) -> None:
    house, script = await play(
        Says("Never mind"),
        channels={"demo": Files()},
        transcriber=Ears(),
        listening_seconds=0.2 if said == "slow" else 60,
    )
    await decide(house, message("", files=(FileRef(said, "voice.ogg"),)))
    reply = await answer(house, await last_run(house))
    problem = f"The recording 'voice.ogg' could not be transcribed: {reason}."
    assert [part.text for part in reply.parts if isinstance(part, Notice)] == [problem]
    assert f"[{problem}]" in script.asked[0][-1].text
    assert "/mnt/user-data/uploads/voice.ogg" in script.asked[0][-1].text


async def test_while_one_is_listened_to_other_conversations_are_answered(play: Play) -> None:
    ears = Ears()
    house, script = await play(Says("Done"), channels={"demo": Files()}, transcriber=ears)
    await decide(house, message("", files=(FileRef("wait", "voice.ogg"),)))
    listening = await last_run(house)
    async with asyncio.timeout(5):
        await ears.began.wait()
    other = await house.run("hello", thread_id="other")
    assert (await house.ended(other)).status is RunStatus.SUCCESS
    assert [asked[-1].text for asked in script.asked] == ["hello"]
    ears.go_on.set()
    assert (await house.ended(listening)).status is RunStatus.SUCCESS


async def test_another_attempt_does_not_fetch_the_files_again(play: Play) -> None:
    channel = Files()
    house, script = await play(Says("Half", gate=asyncio.Event()), Says("Seen"), channels={"demo": channel})
    await decide(house, message("", files=(FileRef("content", "a.txt"),)))
    await script.was_asked(1)
    await house.queue.stop()
    await house.queue.start()
    ended = await house.ended(await last_run(house))
    assert (ended.attempt, channel.asked) == (2, ["content"])
    assert len(await human(house)) == 1


async def test_a_crash_before_the_input_is_stored_leaves_no_file_twice(
    play: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Symptom: `a_1.txt` stood beside `a.txt`, and the agent was told of both."""
    channel, store_input = Files(), runs.set_input

    def dies(*_: Any) -> None:
        monkeypatch.setattr(runs, "set_input", store_input)
        raise LeaseExpired("the process died before the input was stored")

    monkeypatch.setattr(runs, "set_input", dies)
    house, script = await play(Says("Seen"), channels={"demo": channel})
    await decide(house, message("look", files=(FileRef("content", "a.txt"),)))
    run = await last_run(house)
    await answer(house, run)
    assert (await house.ended(run)).attempt == 2
    assert channel.asked == ["content"]
    folder = tmp_path / "threads" / run.thread_id
    assert [path.name for path in (folder / "uploads").iterdir()] == ["a.txt"]
    assert list((folder / ".staging").iterdir()) == []
    assert "uploads/a.txt" in script.asked[0][-1].text


@tool
async def confirm() -> str:
    """Ask the person."""
    return f"They said: {interrupt({'question': 'Really?'})}"


async def test_files_that_come_with_the_answer_to_an_interrupt_reach_the_agent(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Symptom: the answer resumed the run, and what was attached to it was never heard of again."""
    build = factory.build_toolbox
    monkeypatch.setattr(factory, "build_toolbox", lambda *args: [*build(*args), confirm])
    channel = Files()
    house, script = await play(
        Says("Hm.", tool="confirm"), Says("Half", gate=asyncio.Event()), Says("Done"), channels={"demo": channel}
    )
    await decide(house, message("delete it"))
    await answer(house, await last_run(house))
    refs = (FileRef("content", "a.txt"), FileRef("gone", "b.txt"))
    await decide(house, message("yes, and this", files=refs, message_id="m-files"))
    resumed = await last_run(house)
    await script.was_asked(2)
    await house.queue.stop()
    await house.queue.start()
    await answer(house, resumed)

    for asked in script.asked[1:3]:
        assert [told.text for told in asked if told.type == "tool"] == ["They said: yes, and this"]
        assert "/mnt/user-data/uploads/a.txt" in asked[-1].text
        assert "'b.txt' did not come: it has expired" in asked[-1].text
    assert channel.asked == ["content", "gone"]
    assert len(await human(house)) == 2
    entries = await house.database.read(lambda c: transcript.entries(c, resumed.thread_id))
    (said,) = [entry for entry in entries if entry.message_id == "m-files"]
    assert (said.text, [file.name for file in said.files]) == ("yes, and this", ["a.txt"])


async def test_a_question_is_stored_shown_and_answered_by_the_next_turn(play: Play) -> None:
    house, script = await play(Says("Hm.", tool="ask_clarification", args=ASK), Says("Blue it is"))
    await decide(house, message("paint it"))
    asked = await last_run(house)
    reply = await answer(house, asked)
    (question,) = [part for part in reply.parts if isinstance(part, Clarification)]
    assert (question.question, question.options) == ("Which colour?", (Option("Red", "Red"), Option("Blue", "Blue")))
    assert len(question.token) <= 16
    assert question.expires_at is not None
    stored = await house.database.read(lambda c: clarifications.find(c, question.token))
    assert stored is not None
    assert (stored.clarification, stored.asked_of, stored.asked_by) == (question, "ann", AskedBy.QUESTION)

    await decide(house, press(question.token, 1))

    await answer(house, await last_run(house))
    assert script.asked[1][-1].text == "Blue"
    assert script.asked[1][-1].additional_kwargs["human_input_response"]["value"] == "Blue"


async def test_a_file_handed_over_is_shown_and_one_that_is_not_there_is_not(play: Play) -> None:
    note = {"path": "/mnt/user-data/outputs/a.txt", "content": "hello"}
    house, _ = await play(
        Says(tool="write_file", args=note),
        Says(tool="present_files", args={"filepaths": ["/mnt/user-data/outputs/a.txt"]}),
        Says("Here."),
    )
    await decide(house, message("write"))
    reply = await answer(house, await last_run(house))
    assert [part for part in reply.parts if isinstance(part, Artifact)] == [
        Artifact("/mnt/user-data/outputs/a.txt", "a.txt", "text/plain", 5)
    ]


async def test_a_message_sent_meanwhile_is_told_before_the_next_step(play: Play) -> None:
    gate = asyncio.Event()
    house, script = await play(Says("Looking", tool="ls", args={"path": "/mnt/user-data"}, gate=gate), Says("Done"))
    await decide(house, message("look"))
    run = await last_run(house)
    await script.was_asked(1)
    await decide(house, message("in the outputs, please"), busy=BusyPolicy.STEER)
    gate.set()
    await answer(house, run)

    assert script.asked[1][-1].text == "in the outputs, please"
    assert len(await house.manager.list(run.thread_id)) == 1
    entries = await house.database.read(lambda c: transcript.entries(c, run.thread_id))
    assert [(entry.text, entry.run_id) for entry in entries if entry.reply is None] == [
        ("look", run.run_id),
        ("in the outputs, please", run.run_id),
    ]
    assert await house.database.read(inbox.count_open) == 0


async def test_a_message_that_came_too_late_to_steer_becomes_a_turn_of_its_own(play: Play) -> None:
    gate = asyncio.Event()
    house, script = await play(Says("Done", gate=gate), Says("And this too"))
    await decide(house, message("look"))
    first = await last_run(house)
    await script.was_asked(1)
    with house.signals.watch("inbox") as watch:
        await decide(house, message("one more thing"), busy=BusyPolicy.STEER)
        gate.set()
        await answer(house, first)
        assert await watch.wait(4)
    await decide(house, busy=BusyPolicy.STEER)
    second = await last_run(house)
    assert second.run_id != first.run_id
    await answer(house, second)
    assert [told.text for told in await human(house)] == ["look", "one more thing"]


async def test_a_steering_message_that_cannot_be_read_is_decided_anew_and_stops_nothing(play: Play) -> None:
    """Symptom: the run it was meant for could never end."""
    gate = asyncio.Event()
    house, script = await play(Says("Looking", tool="ls", args={"path": "/mnt/user-data"}, gate=gate), Says("Done"))
    await decide(house, message("look"))
    run = await last_run(house)
    await script.was_asked(1)
    (steering,) = await store(house, message("and there"))
    await decide(house, busy=BusyPolicy.STEER)
    change = update(inbound_events).where(inbound_events.c.id == steering).values(payload="{half a")
    await house.database.write(lambda c: c.execute(change))
    gate.set()
    await answer(house, run)
    assert [told.text for told in await human(house)] == ["look"]
    assert await house.database.read(inbox.count_open) == 1


async def test_a_steering_message_is_told_once_over_a_crash(play: Play) -> None:
    gate = asyncio.Event()
    ls = {"tool": "ls", "args": {"path": "/mnt/user-data"}}
    house, script = await play(Says("a", gate=gate, **ls), Says("b", gate=asyncio.Event()), Says("c"))
    await decide(house, message("look"))
    run = await last_run(house)
    await script.was_asked(1)
    (steering,) = await store(house, message("and there"))
    await decide(house, busy=BusyPolicy.STEER)
    gate.set()
    await script.was_asked(2)
    await house.queue.stop()
    await house.queue.start()
    await answer(house, run)
    assert [told.text for told in await human(house)] == ["look", "and there"]
    stored = await house.database.read(lambda c: inbox.find(c, steering))
    assert stored is not None
    assert stored.state is EventState.DECIDED


async def test_a_stop_releases_what_was_not_told(play: Play) -> None:
    house, script = await play(Says("a", gate=asyncio.Event()))
    await decide(house, message("look"))
    run = await last_run(house)
    await script.was_asked(1)
    await decide(house, message("never mind"), busy=BusyPolicy.STEER)
    stopped = await house.manager.cancel(run.run_id, wait=True)
    assert stopped.status is RunStatus.INTERRUPTED
    assert await house.database.read(inbox.count_open) == 1


async def test_an_interrupt_of_the_graph_is_asked_like_a_question(play: Play) -> None:
    house, _ = await play(Says("done"))
    run = await house.ended(await house.run("hi"))
    observer = Observer(run, "ann", house.database, Artifacts(house.agent.paths), utc_now, expiry_seconds=60)
    value = {"question": "Really delete?", "options": ["yes", "no"]}
    form = {"question": "Where?", "fields": [{"name": "city"}], "clarification_type": "missing_info"}
    several = {"human_input": {"question": "Which?", "options": ["a", "b"], "multiple": True}}
    values = (value, "Go on?", form, several)
    update = {"__interrupt__": tuple(Interrupt(value=each, id=f"i-{n}") for n, each in enumerate(values, start=1))}

    notes = await observer.notice(update)
    again = await observer.notice(update)

    assert observer.interrupted
    assert notes == again
    asked = [note["clarification"] for note in notes]
    assert [each["question"] for each in asked] == ["Really delete?", "Go on?", "Where?", "Which?"]
    assert [each["fields"][0]["label"] for each in asked if each["fields"]] == ["city"]
    assert [(each["multiple"], each["icon"]) for each in asked[1:]] == [(False, "⏸️"), (False, "❓"), (True, "⏸️")]
    stored = await house.database.read(lambda c: clarifications.find(c, notes[0]["clarification"]["token"]))
    assert stored is not None
    assert (stored.asked_by, stored.call_id, stored.clarification.options) == (
        AskedBy.INTERRUPT,
        "i-1",
        (Option("yes", "yes"), Option("no", "no")),
    )
    assert replace(stored.clarification, options=()).icon == "⏸️"


async def test_the_tokens_of_every_call_are_on_the_runs_row(play: Play) -> None:
    note = {"path": "/mnt/user-data/outputs/a.txt", "content": "hello"}
    house, _ = await play(Says(tool="write_file", args=note, tokens=(100, 20)), Says("Done.", tokens=(130, 3)))
    await decide(house, message("write"))
    run = await last_run(house)
    await answer(house, run)
    (took,) = await house.database.read(lambda c: usage.of_thread(c, run.thread_id))
    assert took.by_model == {"scripted-1": ModelUsage(2, 2, 230, 23)}
    assert took.ran > timedelta()
    row = (await house.database.read(lambda c: c.execute(select(tables.runs)).all()))[0]
    assert (row.total_input_tokens, row.total_output_tokens, row.total_tokens) == (230, 23, 253)
    assert row.llm_call_count == 2
