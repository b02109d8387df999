from datetime import UTC, datetime

import pytest

from channels.contract import (
    ActivityState,
    Artifact,
    Clarification,
    ClarificationState,
    FormField,
    Notice,
    NoticeKind,
    Option,
    Reply,
    ReplyPart,
    ReplyPhase,
    Text,
    Todo,
    Todos,
    ToolActivity,
    TranscriptEntry,
    TranscriptFile,
)
from channels.web.ids import make_key
from channels.web.render import LiveReply, snapshot, timeline

KEY = make_key("a" * 32, "b" * 32)
NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
FINAL = ReplyPhase.FINAL


def said(seq: int, run: str, text: str, message_id: str | None = None) -> TranscriptEntry:
    return TranscriptEntry(seq, run, NOW, text, message_id=message_id)


def answered(seq: int, run: str, text: str) -> TranscriptEntry:
    return TranscriptEntry(seq, run, NOW, reply=Reply((Text("m", text),), FINAL, run))


def live(run: str | None, text: str, reply_to: str | None = None, phase: ReplyPhase = ReplyPhase.WORKING) -> LiveReply:
    return LiveReply(f"delivery-{run}", reply_to, Reply((Text("m", text),), phase, run), 1)


def told(items: list[dict[str, object]]) -> list[str]:
    return [str(item["text"]) if item["kind"] == "message" else item["parts"][0]["html"] for item in items]  # type: ignore[index]


def drawn(part: ReplyPart) -> dict[str, object]:
    return snapshot(LiveReply("d", None, Reply((part,), FINAL, "r"), 1), KEY)["parts"][0]


def test_a_snapshot_says_what_it_answers_and_whether_it_can_be_stopped() -> None:
    data = snapshot(live("r1", "hi", "m1"), KEY)
    assert (data["reply_id"], data["run_id"], data["reply_to"]) == ("r1", "r1", "m1")
    assert (data["phase"], data["can_stop"]) == ("working", True)
    assert snapshot(live("r1", "hi", phase=FINAL), KEY)["can_stop"] is False


def test_an_answer_of_the_house_itself_is_known_by_its_delivery() -> None:
    assert snapshot(live(None, "help"), KEY)["reply_id"] == "delivery-None"


def test_every_kind_of_part_is_drawn() -> None:
    assert drawn(Text("t", "**x**"))["html"] == "<p><strong>x</strong></p>\n"
    assert drawn(ToolActivity("c", "ls", ActivityState.RUNNING, "/"))["state"] == "running"
    assert drawn(Todos((Todo("a", "completed"),)))["items"] == [{"text": "a", "status": "completed"}]
    assert drawn(Notice(NoticeKind.ERROR, "no"))["notice"] == "error"
    picture = drawn(Artifact("/mnt/user-data/outputs/a&b.png", "a&b.png", "image/png", 5))
    assert picture["is_image"] is True
    assert str(picture["url"]).endswith("files?path=%2Fmnt%2Fuser-data%2Foutputs%2Fa%26b.png")
    assert drawn(Artifact("/x.svg", "x.svg", "image/svg+xml", 5))["is_image"] is False


def test_a_question_shows_its_choices_its_fields_and_who_answered() -> None:
    question = Clarification(
        "t",
        "Which *one*?",
        options=(Option("A", "a", "first"),),
        fields=(FormField("f", "F", multiple=True),),
        state=ClarificationState.ANSWERED,
        answer="A",
        answered_by="a" * 32,
    )
    data = drawn(question)
    assert data["question_html"] == "<p>Which <em>one</em>?</p>\n"
    assert data["options"] == [{"label": "A", "value": "a", "description": "first"}]
    assert data["fields"] == [{"name": "f", "label": "F", "options": [], "multiple": True, "required": True}]
    assert (data["state"], data["answer"], data["answered_by"]) == ("answered", "A", "You")


def test_somebody_elses_answer_carries_their_name() -> None:
    data = drawn(Clarification("t", "?", state=ClarificationState.ANSWERED, answer="A", answered_by="Colleague"))
    assert data["answered_by"] == "Colleague"


def test_a_running_reply_stands_below_its_message_also_when_another_waits() -> None:
    entries = [said(1, "r1", "first", "m1"), said(2, "r2", "second", "m2")]
    items = timeline(entries, [live("r1", "one"), live("r2", "two", phase=ReplyPhase.QUEUED)], KEY)
    assert told(items) == ["first", "<p>one</p>\n", "second", "<p>two</p>\n"]


def test_a_reply_finds_its_message_by_id_when_the_run_is_not_known_yet() -> None:
    entries = [said(1, "", "first", "m1"), said(2, "", "second", "m2")]
    assert told(timeline(entries, [live("r1", "one", reply_to="m1")], KEY)) == ["first", "<p>one</p>\n", "second"]


def test_messages_that_became_one_turn_have_their_answer_below_the_last() -> None:
    entries = [said(1, "r1", "a", "m1"), said(2, "r1", "b", "m2"), answered(3, "r1", "both")]
    assert told(timeline(entries, [], KEY)) == ["a", "b", "<p>both</p>\n"]


def test_a_reply_that_is_both_delivered_and_in_the_transcript_shows_once_and_newest() -> None:
    entries = [said(1, "r1", "a", "m1"), answered(2, "r1", "as it was")]
    assert told(timeline(entries, [live("r1", "as it is", phase=FINAL)], KEY)) == ["a", "<p>as it is</p>\n"]


def test_a_past_message_shows_its_files() -> None:
    file = TranscriptFile("/mnt/user-data/uploads/a.csv", "a.csv", 7)
    item = timeline([TranscriptEntry(1, "r", NOW, "look", message_id="m", files=(file,))], [], KEY)[0]
    assert item["files"][0]["name"] == "a.csv"
    assert "uploads%2Fa.csv" in item["files"][0]["url"]


@pytest.mark.parametrize("half", ["| a | b", "| a | b |", "| a | b |\n", "| a | b |\n|--", "| a | b |\n|---|---|"])
def test_the_head_of_a_table_is_held_back_until_its_first_row_comes(half: str) -> None:
    def html(text: str, phase: ReplyPhase = ReplyPhase.WORKING) -> str:
        return str(snapshot(live("r1", text, phase=phase), KEY)["parts"][0]["html"])

    assert html(f"Look:\n\n{half}") == "<p>Look:</p>\n"
    assert "<td>1</td>" in html("Look:\n\n| a | b |\n|---|---|\n| 1 | 2")
    assert "a" in html(half, FINAL)
    assert html("either a | b") == "<p>either a | b</p>\n"
