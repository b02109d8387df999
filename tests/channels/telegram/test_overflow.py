"""An answer too long for the chat ends as a file, and what Telegram refuses comes another way; nothing is lost."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from channels.contract import Artifact, Clarification, Option, PieceState, ReplyPhase, Text
from channels.shared.overflow import BELOW, FOLLOWS
from channels.telegram.adapter import TelegramChannel
from tests.channels.telegram.turns import MENTION, asked, at, final, made_channel, posted, texts, working
from tests.contracts.host import MemoryHost
from tests.simulators.telegram.client import TelegramSimulator

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG = "\n\n".join(f"Paragraph {number} with **bold {number}**. " + "word " * 60 for number in range(90))
ASKED = Clarification("tok", "Go on?", options=(Option("Yes", "y"), Option("No", "n")))


_TIMES = 20  # the simulator's time, and the channel's pace with it


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def telegram() -> AsyncIterator[TelegramSimulator]:
    async with TelegramSimulator(time_scale=_TIMES) as simulator:
        yield simulator


@pytest_asyncio.fixture(loop_scope="module")
async def channel(telegram: TelegramSimulator, host: MemoryHost) -> AsyncIterator[TelegramChannel]:
    known = len(await telegram.violations())
    opened = made_channel(telegram, times_usual_pace=_TIMES)
    await opened.start(host)
    yield opened
    await opened.stop()
    await opened.close()
    await telegram.clear_faults()
    assert (await telegram.violations())[known:] == []


async def _files(telegram, chat: int) -> list[tuple[str, bytes]]:
    sent = [message.file for message in await posted(telegram, chat) if message.file]
    return [(file["name"], await telegram.file(file["file_id"])) for file in sent]


async def test_past_five_messages_the_whole_answer_is_a_file(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show_at_last(final(LONG))
    *messages, document = await posted(telegram, ana.id)
    assert len(messages) == 5
    assert messages[-1].text.endswith(BELOW)
    shown = "\n".join(message.text for message in messages).removesuffix(BELOW).split()
    assert shown == LONG.replace("**", "").split()[: len(shown)]
    assert await _files(telegram, ana.id) == [("answer.md", LONG.encode())]
    assert document.file
    await turn.show_at_last(final(LONG))
    assert len(await posted(telegram, ana.id)) == 6


async def test_while_it_is_written_growth_stops_at_the_limit_and_says_so(telegram, channel, host, ana) -> None:
    group = await telegram.group(ana)
    turn = await asked(channel, host, ana, f"{MENTION}go", chat=group)
    await turn.show_at_last(working(LONG[:25_000]))
    before = await texts(telegram, group)
    assert len(before) == 5
    assert before[-1].endswith(FOLLOWS)
    edits = len(await telegram.calls("editMessageText"))
    await turn.show_at_last(working(LONG[:28_000]))
    assert await texts(telegram, group) == before
    assert len(await telegram.calls("editMessageText")) == edits
    assert await _files(telegram, group) == []
    await turn.show_at_last(final(LONG))
    assert (await texts(telegram, group))[:5] == [*before[:4], before[4].replace(FOLLOWS, BELOW)]
    assert await _files(telegram, group) == [("answer.md", LONG.encode())]


async def test_a_question_and_files_stand_below_a_long_answer(telegram, channel, host, ana, tmp_path) -> None:
    turn = await asked(channel, host, ana)
    host.put_file("/o/a.csv", b"1,2", "text/csv", tmp_path)
    reply = at(ReplyPhase.FINAL, Text("m", LONG), Artifact("/o/a.csv", "a.csv", "text/csv", 3), ASKED)
    await turn.show_at_last(reply)
    messages = [message for message in await posted(telegram, ana.id) if not message.file]
    assert "❓ Go on?" in messages[-1].text
    assert [button["text"] for button in messages[-1].buttons] == ["Yes", "No"]
    assert [name for name, _ in await _files(telegram, ana.id)] == ["answer.md", "a.csv"]


async def test_the_file_comes_once_over_a_restart(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await turn.show_at_last(final(LONG))
    await channel.stop()
    turn.channel = made_channel(telegram, times_usual_pace=_TIMES)
    await turn.channel.start(host)
    await turn.show_at_last(final(LONG))
    assert len(await posted(telegram, ana.id)) == 6
    assert [piece.state for piece in turn.ledger.receipt.pieces] == [PieceState.SENT] * 6
    await turn.channel.stop()
    await turn.channel.close()


async def test_a_file_of_which_nobody_knows_is_repeated_saying_so(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await telegram.fault("lose_reply", "sendDocument")
    await turn.show_at_last(final(LONG))
    assert await _files(telegram, ana.id) == [("answer.md", LONG.encode())] * 2
    assert "may be a repeat" in (await posted(telegram, ana.id))[-1].text


async def test_where_the_file_is_refused_all_of_it_comes_as_messages(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await telegram.fault("error", "sendDocument", status=400)
    await turn.show_at_last(final(LONG))
    messages = await texts(telegram, ana.id)
    assert len(messages) > 5
    assert "\n".join(messages).split() == LONG.replace("**", "").split()
    await turn.show_at_last(final(LONG))
    assert await texts(telegram, ana.id) == messages
    assert await _files(telegram, ana.id) == []


async def test_what_cannot_be_parsed_loses_its_format_alone(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    first, second = LONG[:7000], LONG[7000:9000]
    await telegram.fault("error", "sendMessage", status=400, count=1)
    await turn.show_at_last(final(first + second))
    messages = await posted(telegram, ana.id)
    assert "\n".join(message.text for message in messages).split() == (first + second).replace("**", "").split()
    assert [bool(message.entities) for message in messages] == [False, *[True] * (len(messages) - 1)]


async def test_a_message_that_is_refused_however_it_is_sent_comes_as_a_file_and_the_rest_as_ever(
    telegram, channel, host, ana
) -> None:
    """Symptom: one message that was too long for Telegram ended the delivery, and what came behind it was lost."""
    turn = await asked(channel, host, ana)
    await telegram.fault("error", "sendMessage", status=400, contains="Paragraph 3 ", count=9)
    await turn.show_at_last(final(LONG[:9000]))
    messages = await posted(telegram, ana.id)
    assert [bool(message.file) for message in messages] == [True, *[False] * (len(messages) - 1)]
    ((name, content),) = await _files(telegram, ana.id)
    assert name == "text-0.txt"
    shown = content.decode() + "\n" + "\n".join(message.text for message in messages[1:])
    assert shown.split() == LONG[:9000].replace("**", "").split()
    assert "does not show this part" in messages[0].text
    count = len(messages)
    await turn.show_at_last(final(LONG[:9000]))
    assert len(await posted(telegram, ana.id)) == count


async def test_buttons_stand_even_if_their_text_is_refused(telegram, channel, host, ana) -> None:
    turn = await asked(channel, host, ana)
    await telegram.fault("error", "sendMessage", status=400, contains="Strange", count=9)
    await turn.show_at_last(final("Strange text", ASKED))
    document, message = await posted(telegram, ana.id)
    assert document.file
    assert [button["text"] for button in message.buttons] == ["Yes", "No"]
