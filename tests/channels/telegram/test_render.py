"""Replies become messages and files, in slots that stay the same while the answer grows."""

import pytest

from channels.contract import (
    ActivityState,
    Artifact,
    Clarification,
    ClarificationState,
    Notice,
    NoticeKind,
    Option,
    Reply,
    ReplyPart,
    ReplyPhase,
    Text,
    TextUnit,
    Todo,
    Todos,
    ToolActivity,
)
from channels.shared.chunking import measure
from channels.telegram.ids import ChoicePress, StopPress, parse_callback_data
from channels.telegram.render import TEXT_LIMIT, Rendered, render

ASKED = Clarification("tok", "Which?", options=(Option("Red", "r"), Option("Blue", "b")))


def at(phase: ReplyPhase, *parts: ReplyPart) -> Rendered:
    return render(Reply(parts, phase, "run-1"))


def working(*parts: ReplyPart) -> Rendered:
    return at(ReplyPhase.WORKING, *parts)


def final(*parts: ReplyPart) -> Rendered:
    return at(ReplyPhase.FINAL, *parts)


def test_before_anything_is_known_there_is_a_sign_and_a_stop_button() -> None:
    (message,) = working().texts
    assert message.slot == "text:0"
    assert message.content.text == "…"
    assert parse_callback_data(message.keyboard[0][0].data) == StopPress("run-1")


def test_steps_and_plan_stand_below_the_text_while_it_works_and_are_gone_at_the_end() -> None:
    parts = (
        Todos((Todo("look", "completed"), Todo("write", "in_progress"))),
        Text("m", "So far."),
        ToolActivity("1", "read_file", ActivityState.RUNNING, "a.csv"),
    )
    (growing,) = working(*parts).texts
    assert growing.content.text == "So far.\n\n☑ look\n▸ write\n⏳ read_file · a.csv"
    done = Todos((Todo("look", "completed"), Todo("write", "completed")))
    (last,) = final(done, *parts[1:]).texts
    assert last.content.text == "So far."
    assert last.keyboard == ()


def test_a_plan_that_was_not_finished_stays_to_be_seen() -> None:
    (last,) = final(Text("m", "Stopped."), Todos((Todo("write", "pending"),))).texts
    assert "☐ write" in last.content.text


def test_only_the_newest_steps_are_shown() -> None:
    steps = [ToolActivity(str(number), f"tool_{number}", ActivityState.DONE) for number in range(9)]
    (message,) = working(*steps).texts
    assert message.content.text.splitlines() == ["✓ tool_5", "✓ tool_6", "✓ tool_7", "✓ tool_8"]


def test_a_waiting_turn_has_a_slot_of_its_own() -> None:
    rendered = at(ReplyPhase.QUEUED, Notice(NoticeKind.WAITING, "Waits behind 2."))
    assert [(payload.slot, payload.content.text) for payload in rendered.texts] == [("waiting:0", "⏳ Waits behind 2.")]
    assert at(ReplyPhase.QUEUED).texts == ()


def test_options_are_buttons_under_the_last_message() -> None:
    long = "word " * 2000
    rendered = final(Text("m", long), ASKED)
    assert len(rendered.texts) > 1
    assert [payload.keyboard for payload in rendered.texts[:-1]] == [()] * (len(rendered.texts) - 1)
    rows = rendered.texts[-1].keyboard
    assert [row[0].label for row in rows] == ["Red", "Blue"]
    assert [parse_callback_data(row[0].data) for row in rows] == [ChoicePress("tok", 0), ChoicePress("tok", 1)]


def test_long_options_stand_in_full_in_the_text() -> None:
    options = (Option("A very long label that no button of a telephone could ever show", "a"), Option("B", "b", "why"))
    (message,) = final(Clarification("tok", "Which?", options=options)).texts
    assert f"1. {options[0].label}" in message.content.text
    assert "2. B — why" in message.content.text
    assert message.keyboard[0][0].label.startswith("1. A very long")
    assert len(message.keyboard[0][0].label) <= 52


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (ClarificationState.ANSWERED, "✅ Ana: Red"),
        (ClarificationState.EXPIRED, "⌛ This question has expired."),
        (ClarificationState.WITHDRAWN, "✖️ This question was withdrawn."),
    ],
)
def test_a_settled_question_shows_who_chose_what_and_no_buttons(state: ClarificationState, line: str) -> None:
    settled = Clarification("tok", "Which?", options=ASKED.options, state=state, answer="Red", answered_by="Ana")
    (message,) = final(settled).texts
    assert message.content.text.endswith(line)
    assert message.keyboard == ()


def test_only_a_whole_answer_has_thumbs_and_they_stand_under_its_last_message() -> None:
    def labels(*parts: ReplyPart, phase: ReplyPhase = ReplyPhase.FINAL) -> list[list[str]]:
        *_, last = render(Reply(parts, phase, "run-1"), thumbs=True).texts
        return [[button.label for button in row] for row in last.keyboard]

    answer = Text("m", "word " * 2000)
    first, *_ = render(Reply((answer,), ReplyPhase.FINAL, "run-1"), thumbs=True).texts
    assert (labels(answer), first.keyboard) == ([["👍", "👎"]], ())
    assert labels(answer, phase=ReplyPhase.WORKING) == [["⏹ Stop"]]
    assert labels(answer, Notice(NoticeKind.STOPPED, "Stopped.")) == []
    assert labels(answer, ASKED) == [["Red"], ["Blue"]]
    assert render(Reply((answer,), ReplyPhase.FINAL), thumbs=True).texts[-1].keyboard == ()
    assert render(Reply((answer,), ReplyPhase.FINAL, "x" * 80), thumbs=True).texts[-1].keyboard == ()
    assert final(answer).texts[-1].keyboard == ()


def test_earlier_messages_stay_as_they_are_while_the_text_grows() -> None:
    text = "".join(f"Sentence number {number} of the answer. " for number in range(1200))
    before: dict[str, str] = {}
    for end in range(3000, len(text), 1500):
        step = ToolActivity("1", "tool", ActivityState.RUNNING, str(end))
        now = {payload.slot: payload.content.text for payload in working(Text("m", text[:end]), step).texts}
        settled = dict(list(before.items())[:-1])
        assert settled.items() <= now.items()
        before = now


def test_every_message_fits_even_with_the_line_about_a_repeat() -> None:
    for payload in final(Text("m", "😀" * 9000), ASKED).texts:
        assert measure(payload.as_repeat().content.text, TextUnit.UTF16) <= TEXT_LIMIT


def test_files_come_at_the_end_and_once_for_each_path() -> None:
    one = Artifact("/o/a.png", "a.png", "image/png", 10)
    assert working(Text("m", "x"), one).files == ()
    files = final(Text("m", "x"), one, Artifact("/o/b.csv", "b.csv", "text/csv", 10), one).files
    assert [(file.artifact.name, file.as_photo) for file in files] == [("a.png", True), ("b.csv", False)]
    assert files[0].slot == final(one).files[0].slot


@pytest.mark.parametrize(
    ("mime_type", "size_bytes", "as_photo"),
    [
        ("image/jpeg", 10_000_000, True),
        ("image/jpeg", 10_000_001, False),
        ("image/gif", 10, False),
        ("image/svg+xml", 10, False),
    ],
)
def test_only_pictures_that_telegram_shows_are_photos(mime_type: str, size_bytes: int, *, as_photo: bool) -> None:
    (file,) = final(Artifact("/o/x", "x", mime_type, size_bytes)).files
    assert file.as_photo is as_photo


def test_a_file_too_large_is_a_line() -> None:
    rendered = final(Text("m", "Done."), Artifact("/o/film.mkv", "film.mkv", "video/x-matroska", 60_000_000))
    assert rendered.files == ()
    assert "📎 film.mkv: too large to send (60 MB; Telegram takes 50 MB)" in rendered.texts[0].content.text


def test_an_answer_of_files_alone_names_them_and_an_empty_one_ends_visibly() -> None:
    assert final(Artifact("/o/a.csv", "a.csv", "text/csv", 1)).texts[0].content.text == "📎 a.csv"
    assert final().texts[0].content.text == "✓"


def test_a_digest_names_what_is_shown() -> None:
    assert final(Text("m", "a")).texts[0].digest == final(Text("n", "a")).texts[0].digest
    assert final(Text("m", "a")).texts[0].digest != final(Text("m", "*a*")).texts[0].digest
