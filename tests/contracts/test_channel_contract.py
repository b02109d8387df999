"""What every channel must do, whatever the platform."""

import asyncio
import logging
from pathlib import Path

import pytest

from channels.contract import (
    Artifact,
    ChannelError,
    ChatKind,
    ChoiceSelected,
    Clarification,
    ClarificationState,
    ConversationKey,
    FileRef,
    FileUnavailable,
    MessageReceived,
    Notice,
    NoticeKind,
    Option,
    PieceState,
    PressVerdict,
    RateLimited,
    Reply,
    ReplyPhase,
    SendNowRequested,
    StopRequested,
    SupportsPressAnswer,
    Text,
    event_from_json,
    event_to_json,
)
from tests.contracts.harness import ChannelHarness
from tests.contracts.host import Ledger

pytestmark = pytest.mark.asyncio(loop_scope="module")
RUN = "6f1c2b3a-0d4e-4f5a-9b6c-7d8e9f0a1b2c"
NASTY = {  # what was written, and words that must be read
    "escapes": (
        "Use `a<b>&c` and <script>alert(1)</script> & AT&T 5 > 3 _snake_case_ *.py v1.2.3! (x) [y] {z} #h ~ a_b",
        "Use a<b>&c and <script>alert(1)</script> & AT&T 5 > 3 snake_case *.py v1.2.3! (x) [y] {z} #h ~ a_b",
    ),
    "nesting": (
        "**bold _italic `code` end_ bold** ***both*** ~~strike **b** x~~ **unclosed",
        "bold italic code end bold both strike b x **unclosed",
    ),
    "table": (
        "| Name | Wert |\n|:--|--:|\n| Ü **b** | `1` |\n| 日本語 | <b> |\n\nafter",
        "Name Wert Ü b 1 日本語 <b> after",
    ),
    "fences": (
        "```python\ndef f():\n    return '`' # <a>&\\\n```\n\ntext\n~~~\nraw ``` in tildes\n~~~",
        "def f(): return '`' # <a>&\\ text raw ``` in tildes",
    ),
    "links": (
        "[a *b*](https://ex.com/p_(x)?q=1) <https://auto.link/a_b> [ref][1] https://bare.url/a_b_c\n\n[1]: http://r.ef",
        "a b https://auto.link/a_b ref https://bare.url/a_b_c",
    ),
    "lists": (
        "1. one\n   - sub **x**\n     1. deep\n2. two\n\n- [ ] todo\n- [x] done\n\n> quote\n> > nested\n> - item",
        "one sub x deep two todo done quote nested item",
    ),
    "emoji": (
        "# Héading 👩‍👩‍👧‍👦 & <x>\n**👩‍👩‍👧‍👦bold🏳️‍🌈** `😀` [😀](http://e.x)\n\n---\n\n## H2 `c`",
        "Héading 👩‍👩‍👧‍👦 & <x> 👩‍👩‍👧‍👦bold🏳️‍🌈 😀 😀 H2 c",
    ),
    "pings": (
        "<!channel> <@U123> @everyone <!here|x> #general :smile: &lt;!channel&gt; \\*not bold\\*",
        "<!channel> <@U123> @everyone <!here|x> #general :smile: <!channel> *not bold*",
    ),
    "html": (
        "$$\\frac{a_1}{b^2}$$ <details><summary>s</summary>t</details> <br> H<sub>2</sub>O &copy; \\_",
        "$$\\frac{a_1}{b^2}$$ <details><summary>s</summary>t</details> <br> H<sub>2</sub>O © _",
    ),
    "cut": (
        "Here is **bold that was cut and `code not clo\n```js\nlet a = 1;\n| a | b |",
        "Here is **bold that was cut and `code not clo let a = 1; | a | b |",
    ),
    "rtl": ("שלום **עולם** و `مرحبا` 中文，标点。", "שלום עולם و مرحبا 中文，标点。"),
}
LONG = "\n\n".join(
    f"Paragraph {number}: " + "words of the answer " * 12 + f"\n\n```python\nvalue_{number} = {number}\n```"
    for number in range(60)
)


def final(*parts: object) -> Reply:
    return Reply(tuple(parts), ReplyPhase.FINAL, RUN)


def working(*parts: object) -> Reply:
    return Reply(tuple(parts), ReplyPhase.WORKING, RUN)


def readable(text: str) -> str:
    """Letters and digits only: marks and white space may be shown another way."""
    return "".join(letter for letter in text if letter.isalnum())


def question(**changes: object) -> Clarification:
    described = {"token": "Tok-1_x", "question": "Shall I?", "options": (Option("Yes, do", "yes"), Option("No", "no"))}
    return Clarification(**{**described, **changes})


async def test_a_message_becomes_one_event_that_survives_storage(harness: ChannelHarness) -> None:
    event = await harness.say("hello **there** 😀")
    assert event.text == "hello **there** 😀"
    assert event.chat_kind is ChatKind.PRIVATE
    assert event.conversation.channel == harness.channel.name
    assert ConversationKey.parse(str(event.conversation)) == event.conversation
    assert event.dedupe_key
    assert event_from_json(event_to_json(event)) == event
    assert harness.channel.health().ok


async def test_two_messages_have_one_conversation_and_two_keys(harness: ChannelHarness) -> None:
    first, second = await harness.say("one"), await harness.say("two")
    assert first.conversation == second.conversation
    assert first.dedupe_key != second.dedupe_key
    assert first.message_id != second.message_id


async def test_what_the_platform_delivers_twice_has_the_same_key(harness: ChannelHarness) -> None:
    event = await harness.say("once")
    await harness.deliver_again(event)
    assert [known for known in harness.host.events if known.dedupe_key == event.dedupe_key] == [event]


async def test_an_event_that_could_not_be_stored_comes_again(harness: ChannelHarness) -> None:
    harness.host.refuse = RuntimeError("the database is away")
    event = await harness.say("important")
    assert event.text == "important"


async def test_its_own_answers_are_no_events(harness: ChannelHarness) -> None:
    event = await harness.say("hello")
    ledger = Ledger()
    await harness.channel.deliver(ledger.target("d", event), final(Text("m", "an answer")), ledger.receipt)
    await harness.say("next")
    assert [e.text for e in harness.host.events if isinstance(e, MessageReceived)] == ["hello", "next"]


@pytest.mark.parametrize("name", sorted(NASTY))
async def test_the_final_text_is_complete(harness: ChannelHarness, name: str) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    source, words = NASTY[name]
    await harness.channel.deliver(ledger.target("d", event), final(Text("m", source)), ledger.receipt)
    rest = await harness.shown(event)
    for word in words.split():
        before, found, rest = rest.partition(word)
        assert found, (word, before)
    assert await harness.violations() == []


async def test_a_long_text_comes_whole_and_in_order(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    await _deliver_at_last(harness, ledger, event, final(Text("m", LONG)))
    shown = await harness.shown(event)
    assert readable(LONG.replace("```python", "")) == readable(shown)
    assert await harness.violations() == []


async def test_delivering_the_same_again_changes_nothing(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    target = ledger.target("d", event)
    reply = final(Text("m", "**once**"), question())
    first = await harness.channel.deliver(target, reply, ledger.receipt)
    before = await harness.shown(event)
    again = await harness.channel.deliver(target, reply, first)
    assert again == first
    assert await harness.shown(event) == before
    assert await harness.violations() == []


async def test_a_growing_answer_is_seen_and_ends_as_one(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    target = ledger.target("d", event)
    for text in ("The answer", "The answer is **forty", "The answer is **forty-two**."):
        await harness.channel.deliver(target, working(Text("m", text)), ledger.receipt)
        assert "The answer" in await harness.preview(event)
    await harness.channel.deliver(target, final(Text("m", "The answer is **forty-two**.")), ledger.receipt)
    assert readable(await harness.shown(event)) == "Theanswerisfortytwo"
    assert await harness.violations() == []


async def test_an_answer_goes_on_in_its_message_after_a_restart(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    target = ledger.target("d", event)
    await harness.channel.deliver(target, final(Text("m", "first words"), question()), ledger.receipt)
    await harness.restart()
    await harness.channel.deliver(
        target,
        final(
            Text("m", "first words"), question(state=ClarificationState.ANSWERED, answer="Yes, do", answered_by="Ana")
        ),
        ledger.receipt,
    )
    shown = await harness.shown(event)
    assert shown.count("first words") == 1
    assert "Ana" in shown
    assert "Yes, do" in shown


async def test_a_person_without_the_right_to_speak_says_nothing(harness: ChannelHarness) -> None:
    class LeaseLost(Exception):
        pass

    event = await harness.say("go")
    ledger = Ledger(lease_lost=LeaseLost())
    for reply in (working(Text("m", "half")), final(Text("m", "whole"))):
        with pytest.raises(LeaseLost):
            await harness.channel.deliver(ledger.target("d", event), reply, ledger.receipt)
    assert await harness.shown(event) == ""
    assert ledger.permits > 0


async def test_what_is_posted_was_recorded_before_and_after(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    returned = await harness.channel.deliver(ledger.target("d", event), final(Text("m", "answer")), ledger.receipt)
    assert returned == ledger.receipt
    for piece in ledger.receipt.pieces:
        states = [known.state for receipt in ledger.history if (known := receipt.piece(piece.slot))]
        assert states[0] is PieceState.ATTEMPTING
        assert states[-1] is PieceState.SENT
        assert piece.message_id


async def test_a_press_says_which_question_and_which_option_and_is_answered(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    await harness.channel.deliver(ledger.target("d", event), final(Text("m", "Hm."), question()), ledger.receipt)
    harness.host.questions["Tok-1_x"] = question()
    press = await harness.press(event, "No")
    assert isinstance(press, ChoiceSelected)
    assert (press.token, press.option, press.conversation) == ("Tok-1_x", 1, event.conversation)
    assert press.sender.id == event.sender.id
    if isinstance(harness.channel, SupportsPressAnswer):
        await harness.channel.answer_press(press, PressVerdict(accepted=True, text="Noted."))
        assert await harness.press_answer(press) == "Noted."


@pytest.mark.parametrize(
    ("state", "must_show"), [(ClarificationState.EXPIRED, "expired"), (ClarificationState.WITHDRAWN, "withdrawn")]
)
async def test_a_question_that_is_over_says_so(
    harness: ChannelHarness, state: ClarificationState, must_show: str
) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    target = ledger.target("d", event)
    await harness.channel.deliver(target, final(question()), ledger.receipt)
    await harness.channel.deliver(target, final(question(state=state)), ledger.receipt)
    shown = await harness.shown(event)
    assert must_show in shown
    assert "Shall I?" in shown


async def test_a_stop_names_the_run_it_was_drawn_for(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    await harness.channel.deliver(ledger.target("d", event), working(Text("m", "thinking about it")), ledger.receipt)
    press = await harness.press(event, "⏹ Stop")
    assert isinstance(press, StopRequested)
    assert press.run_id == RUN
    assert press.conversation == event.conversation


async def test_a_turn_that_waits_can_be_sent_now_or_dropped(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    waits = Reply((Notice(NoticeKind.WAITING, "Waiting: one message is answered first."),), ReplyPhase.QUEUED, RUN)
    await harness.channel.deliver(ledger.target("d", event), waits, ledger.receipt)
    assert "one message is answered first" in await harness.preview(event)
    for label, kind in (("▶️ Send now", SendNowRequested), ("✖️ Drop", StopRequested)):
        press = await harness.press(event, label)
        assert isinstance(press, kind)
        assert (press.run_id, press.conversation, press.sender.id) == (RUN, event.conversation, event.sender.id)


async def test_a_failure_is_said_with_its_reason(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    notice = Notice(NoticeKind.ERROR, "The model does not answer.")
    await harness.channel.deliver(ledger.target("d", event), final(Text("m", "Half of"), notice), ledger.receipt)
    shown = await harness.shown(event)
    assert "Half of" in shown
    assert "The model does not answer." in shown


async def test_a_file_comes_in_as_it_was_sent(harness: ChannelHarness, tmp_path: Path) -> None:
    content = bytes(range(256)) * 400
    event = await harness.say("please read", ("data.bin", content))
    (file,) = event.files
    assert file.name == "data.bin"
    destination = tmp_path / "in.bin"
    await harness.channel.download(file, destination)
    assert destination.read_bytes() == content
    with pytest.raises(FileExistsError):
        await harness.channel.download(file, destination)


async def test_a_file_that_is_gone_or_too_large_says_why(harness: ChannelHarness, tmp_path: Path) -> None:
    too_large = FileRef("whatever", "film.mkv", size_bytes=harness.channel.capabilities.download_limit_bytes + 1)
    for ref in (FileRef("no-such-file", "gone.txt"), too_large):
        with pytest.raises(FileUnavailable) as caught:
            await harness.channel.download(ref, tmp_path / "none")
        assert caught.value.user_message
    assert not (tmp_path / "none").exists()


async def test_a_file_goes_out_and_a_missing_one_is_explained(harness: ChannelHarness, tmp_path: Path) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    harness.host.put_file("/mnt/user-data/outputs/report.csv", b"a,b\n1,2\n", "text/csv", tmp_path)
    reply = final(
        Text("m", "Here they are."),
        Artifact("/mnt/user-data/outputs/report.csv", "report.csv", "text/csv", 8),
        Artifact("/mnt/user-data/outputs/gone.csv", "gone.csv", "text/csv", 8),
    )
    target = ledger.target("d", event)
    receipt = await harness.channel.deliver(target, reply, ledger.receipt)
    await harness.channel.deliver(target, reply, receipt)
    assert await harness.files_shown(event) == [b"a,b\n1,2\n"]
    assert "gone.csv" in await harness.shown(event)
    assert await harness.violations() == []


async def test_a_limit_is_honoured_and_the_answer_comes_once(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    await harness.refuse_next_posts(1, 1)
    reply = final(Text("m", "the answer"))
    with pytest.raises(RateLimited) as caught:
        await harness.channel.deliver(ledger.target("d", event), reply, ledger.receipt)
    assert caught.value.retry_after_seconds == 1
    await _deliver_at_last(harness, ledger, event, reply)
    assert (await harness.shown(event)).count("the answer") == 1
    assert await harness.violations() == []


async def test_a_lost_reply_leads_to_a_repeat_that_says_so(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    ledger = Ledger()
    await harness.lose_next_reply()
    await harness.channel.deliver(ledger.target("d", event), final(Text("m", "the answer")), ledger.receipt)
    shown = await harness.shown(event)
    assert shown.count("the answer") == 2
    assert "may be a repeat" in shown
    assert [piece.state for piece in ledger.receipt.pieces] == [PieceState.AMBIGUOUS, PieceState.SENT]


async def test_after_stop_nothing_comes_in_but_answers_go_out(harness: ChannelHarness) -> None:
    event = await harness.say("go")
    await harness.channel.stop()
    ledger = Ledger()
    await harness.channel.deliver(ledger.target("d", event), final(Text("m", "farewell")), ledger.receipt)
    assert "farewell" in await harness.shown(event)
    assert len(harness.host.events) == 1


async def test_no_secret_is_logged_or_raised(harness: ChannelHarness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await harness.restart()
    event = await harness.say("go", ("a.txt", b"x"))
    ledger = Ledger()
    raised: list[BaseException] = []
    try:
        await harness.refuse_next_posts(1, 1)
        await harness.channel.deliver(ledger.target("d", event), final(Text("m", "x")), ledger.receipt)
    except ChannelError as error:
        raised.append(error)
    try:
        await harness.channel.download(FileRef("no-such-file", "gone.txt"), Path("/nonexistent/none"))
    except (ChannelError, OSError) as error:
        raised.append(error)
    written = [record.getMessage() for record in caplog.records] + [repr(harness.channel)]
    for error in raised:
        written += _all_of(error)
    for secret in harness.secrets:
        assert not [line for line in written if secret in line]


def _all_of(error: BaseException | None) -> list[str]:
    """An exception with everything that hangs on it."""
    if error is None:
        return []
    return [repr(error), str(error), *_all_of(error.__cause__), *_all_of(error.__context__)]


async def _deliver_at_last(harness: ChannelHarness, ledger: Ledger, event: MessageReceived, reply: Reply) -> None:
    """As the house does: come back when the channel says so, with the last recorded receipt."""
    async with asyncio.timeout(60):
        while True:
            try:
                await harness.channel.deliver(ledger.target("d", event), reply, ledger.receipt)
            except RateLimited as limited:
                await asyncio.sleep(limited.retry_after_seconds)
            else:
                return
